"""Where the work of a sweep is done: here, or in worker processes. Results are the same, and come in the
order of the asking.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, ParamSpec, TypeVar

from gradfuzz.errors import UsageError
from gradfuzz.oracles.foreign.memory import collect_less

P = ParamSpec("P")
T = TypeVar("T")

_ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""The programs are tiny: threads inside a worker only take the cores from the other workers."""


_GUARD = 'put what the script does under `if __name__ == "__main__":`'


class Here:
    """Calls at once, in this process: for oracles that are cheap to ask. It has the methods of `Pool`."""

    size = 1

    def submit(self, f: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(f(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for, as a process's would be
            future.set_exception(error)
        return future

    def check_started(self) -> None:
        """This process runs."""

    def close(self, *, at_once: bool = False) -> None:
        """Nothing is left over."""


class Pool:
    """Processes, started afresh: forking a process in which JAX or Torch runs threads is not safe.

    A process that is started afresh imports the script that started it. A script that starts a sweep when it
    is imported would do so in every worker: there it is a `UsageError`, and `check_started` tells the script.
    """

    def __init__(self, size: int) -> None:
        # As `multiprocessing` asks itself.
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise UsageError(
                f"a worker process imports the script, and the script starts worker processes again; {_GUARD}"
            )
        self.size = size
        context = multiprocessing.get_context("spawn")
        self._began = context.RawValue("b", 0)
        self._pool = ProcessPoolExecutor(size, context, begin, (self._began,))

    def submit(self, f: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The promise of `f(*args, **kwargs)`. `f` is a function of a module: a process can find it."""
        with single_threaded():  # a process may be started, and NumPy reads this when it is imported there
            try:
                return self._pool.submit(f, *args, **kwargs)
            except BrokenProcessPool as error:  # it died since: said where the result is asked for, as ever
                broken: Future[T] = Future()
                broken.set_exception(error)
                return broken

    def check_started(self) -> None:
        """`UsageError` where not one process has come up: then none was taken down by its work."""
        if not self._began.value:
            what = "no worker process came up, and why is on standard error"
            raise UsageError(f"{what}; a worker imports the script that starts it, so {_GUARD}")

    def close(self, *, at_once: bool = False) -> None:
        """No more work; with `at_once` what is under way is given up."""
        processes: list[Any] = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=not at_once, cancel_futures=True)
        if at_once:
            for process in processes:
                with contextlib.suppress(OSError, ValueError):
                    process.terminate()


Workers = Here | Pool
"""Something that calls functions, by and by."""


def usual_size() -> int:
    """How many processes are used where nobody says: one per core, at most four."""
    return max(1, min(4, os.cpu_count() or 1))


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """The environment that workers get; what somebody has set stays."""
    added = {name: value for name, value in _ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def begin(began: Any) -> None:
    """Runs first in every worker: the parent learns that it came up, garbage is collected less often, Ctrl-C
    is the parent's affair, and a worker whose parent was killed ends, too.
    """
    began.value = 1
    collect_less()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is a worker"
    wait([parent.sentinel])
    os._exit(1)

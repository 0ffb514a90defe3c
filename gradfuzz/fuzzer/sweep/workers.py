"""Where a sweep's work is done: in this process or in workers. The results and their order are the same."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""The programs are tiny: threads inside a worker only take cores from the other workers."""


class Workers(Protocol):
    """Something that calls functions, now or later."""

    size: int

    def submit(self, f: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The future of `f(*args, **kwargs)`. A process must find `f`, so it is a module-level function."""
        ...

    def close(self, *, at_once: bool = False) -> None:
        """Takes no more work; `at_once` also cancels work under way."""
        ...


class Here:
    """Calls at once in this process, for cheap oracles."""

    size = 1

    def submit(self, f: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(f(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for, as a process's would be
            future.set_exception(error)
        return future

    def close(self, *, at_once: bool = False) -> None:
        """Nothing to close."""


class Pool:
    """Spawned processes: forking a process in which JAX or Torch runs threads is not safe."""

    def __init__(self, size: int) -> None:
        self.size = size
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(size, mp_context=context, initializer=_begin)

    def submit(self, f: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with _single_threaded():  # a process may start here, and NumPy reads this at its import
            return self._pool.submit(f, *args, **kwargs)

    def close(self, *, at_once: bool = False) -> None:
        processes: list[Any] = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=not at_once, cancel_futures=True)
        if at_once:
            for process in processes:
                with contextlib.suppress(OSError, ValueError):
                    process.terminate()


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """Sets the environment of workers; variables that are already set stay."""
    added = {name: value for name, value in _ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _begin() -> None:
    """Runs first in every worker: the parent handles Ctrl-C, and a worker ends when its parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is a worker"
    wait([parent.sentinel])
    os._exit(1)

"""Workers of this machine: this process, or processes that it starts."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, NamedTuple, TypeVar

from gradfuzz.errors import UsageError, WorkerDiedError
from gradfuzz.fuzzer.workers.worker import DEATHS, Load, single_threaded
from gradfuzz.oracles.foreign.memory import collect_less

T = TypeVar("T")

_GUARD = 'put what the script does under `if __name__ == "__main__":`'


class Here:
    """Calls at once, in this process: for oracles that are cheap to ask."""

    room = 1
    offered: frozenset[str] = frozenset()

    def submit(
        self, f: Callable[..., T], *args: Any, needs: Collection[str] = (), soon: bool = False
    ) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(f(*args))
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for, as a process's would be
            future.set_exception(error)
        return future

    def load(self) -> Load:
        return Load(1)

    def close(self, *, at_once: bool = False) -> None:
        """Nothing is left over."""


class _Task(NamedTuple):
    f: Callable[..., Any]
    args: tuple[Any, ...]
    promise: Future[Any]
    deaths: int


class Pool:
    """Processes, started afresh: forking a process in which JAX or Torch runs threads is not safe.

    A process that is started afresh imports the script that started it. A script that starts a sweep when it
    is imported would do so in every worker: there it is a `UsageError`, and every promise says so.

    When a process dies, all of them end. What they did is done again; what was under way twice when one died
    is done in a process of its own, so that no work is blamed for its neighbour.
    """

    offered: frozenset[str] = frozenset()

    def __init__(self, size: int) -> None:
        # As `multiprocessing` asks itself.
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise UsageError(
                f"a worker process imports the script, and the script starts worker processes again; {_GUARD}"
            )
        self.room = size
        self._context = multiprocessing.get_context("spawn")
        self._began = self._context.RawValue("b", 0)
        self._lock = threading.RLock()
        self._closed = False
        self._lost = 0
        self._shared = self._executor(size)
        self._alone: set[ProcessPoolExecutor] = set()

    def submit(
        self, f: Callable[..., T], *args: Any, needs: Collection[str] = (), soon: bool = False
    ) -> Future[T]:
        promise: Future[T] = Future()
        self._give(_Task(f, args, promise, 0))
        return promise

    def load(self) -> Load:
        return Load(self.room, self._lost)

    def close(self, *, at_once: bool = False) -> None:
        with self._lock:
            self._closed = True
            executors = [self._shared, *self._alone]
        for executor in executors:
            processes: list[Any] = list((getattr(executor, "_processes", None) or {}).values())
            executor.shutdown(wait=not at_once, cancel_futures=True)
            if at_once:
                for process in processes:
                    with contextlib.suppress(OSError, ValueError):
                        process.terminate()

    def _executor(self, size: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(size, self._context, begin, (self._began,))

    def _give(self, task: _Task) -> None:
        with self._lock, single_threaded():  # a process may be started, and NumPy reads this in it
            if self._closed:
                task.promise.cancel()
                return
            executor = self._shared
            if task.deaths == DEATHS - 1:
                executor = self._executor(1)
                self._alone.add(executor)
            try:
                future = executor.submit(task.f, *task.args)
            except BrokenProcessPool:  # it died since
                future = self._renewed(executor).submit(task.f, *task.args)
        future.add_done_callback(lambda ended: self._came(task, executor, ended))

    def _renewed(self, broken: ProcessPoolExecutor) -> ProcessPoolExecutor:
        """The executor in place of a broken one."""
        if self._shared is broken:
            broken.shutdown(wait=False)
            self._shared = self._executor(self.room)
            self._lost += 1
        return self._shared

    def _came(self, task: _Task, executor: ProcessPoolExecutor, future: Future[Any]) -> None:
        """Runs in a thread of the executor. That of a broken one holds its lock meanwhile, from Python 3.12
        on, and nothing that waits for the lock may be done there.
        """
        if not future.cancelled() and isinstance(future.exception(), BrokenProcessPool):
            threading.Thread(target=self._ended, args=(task, executor, future), daemon=True).start()
        else:
            self._ended(task, executor, future)

    def _ended(self, task: _Task, executor: ProcessPoolExecutor, future: Future[Any]) -> None:
        with self._lock:
            if executor in self._alone:
                self._alone.remove(executor)
                executor.shutdown(wait=False)
        if future.cancelled():
            task.promise.cancel()
            return
        error = future.exception()
        if not isinstance(error, BrokenProcessPool):
            _keep(task.promise, future)
        elif not self._began.value:
            what = "no worker process came up, and why is on standard error"
            script = f"a worker imports the script that starts it, so {_GUARD}"
            task.promise.set_exception(UsageError(f"{what}; {script}"))
        elif task.deaths == DEATHS - 1:
            task.promise.set_exception(
                WorkerDiedError(f"{DEATHS} worker processes died of it, the last one alone with it")
            )
        else:
            with self._lock:
                if not self._closed:
                    self._renewed(executor)
            self._give(task._replace(deaths=task.deaths + 1))


class Threads:
    """Threads of this process, for work that is done in processes of its own; `end` ends these."""

    offered: frozenset[str] = frozenset()

    def __init__(self, size: int, end: Callable[[], None]) -> None:
        self.room = size
        self._end = end
        self._pool = ThreadPoolExecutor(size)

    def submit(
        self, f: Callable[..., T], *args: Any, needs: Collection[str] = (), soon: bool = False
    ) -> Future[T]:
        return self._pool.submit(f, *args)

    def load(self) -> Load:
        return Load(self.room)

    def close(self, *, at_once: bool = False) -> None:
        self._pool.shutdown(wait=not at_once, cancel_futures=True)
        self._end()


def _keep(promise: Future[Any], future: Future[Any]) -> None:
    """Keeps a promise by what has come."""
    if promise.cancelled():
        return
    error = future.exception()
    if error is not None:
        promise.set_exception(error)
    else:
        promise.set_result(future.result())


def usual_size() -> int:
    """How many processes are used where nobody says: one per core, at most four."""
    return max(1, min(4, os.cpu_count() or 1))


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

"""The workers of a Dask cluster. Dask hands out the work, also again where a worker dies.

A cluster is named as `local:4` (processes of this machine), `tcp://HOST:PORT` (the address of a scheduler) or
`scheduler.json` (the file in which a scheduler wrote its address). Workers say by resources which systems
their machine serves: `dask worker ... --resources "torch=1"`. Where no worker names a system, all serve it.

Work is handed out, and results are fetched, in bundles every few hundredths of a second: a bundle costs the
scheduler and this process hardly more than a single piece. A scheduler may be restarted: what it did not give
back is handed out again when it answers.
"""

from __future__ import annotations

import functools
import logging
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gradfuzz.errors import MissingExtraError, UsageError, WorkerDiedError
from gradfuzz.fuzzer.workers import census
from gradfuzz.fuzzer.workers.worker import DEATHS, Load
from gradfuzz.oracles.foreign.memory import collect_less
from gradfuzz.oracles.foreign.worker import THREADS

T = TypeVar("T")

_LOCAL = "local:"

_ANSWERS = 30.0
"""Seconds until a scheduler that does not answer at the start is given up."""

_PATIENCE = 600.0
"""Seconds until a scheduler that was lost is given up."""

_TICK = 0.05
"""Seconds between two bundles."""

_JOINS = 60.0
"""Seconds until the first worker has to be there."""


@dataclass(eq=False, slots=True)
class _Task:
    data: bytes
    needs: frozenset[str]
    soon: bool
    promise: Future[Any]
    future: Any = None
    """Dask's own."""


class DaskCluster:
    """The workers of one cluster, for a sweep of these systems."""

    def __init__(self, place: str, systems: Collection[str]) -> None:
        """`UsageError` where no cluster is, or where its machines do not agree."""
        try:
            import distributed  # noqa: F401 - is it there?
        except ImportError:
            raise MissingExtraError(
                "a cluster needs Dask, which is not installed; pip install 'gradfuzz[dask]'"
            ) from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is told by the sweep
        self._place = place
        self._systems = frozenset(systems)
        self._local = _local(place) if place.startswith(_LOCAL) else None
        self._lock = threading.Lock()
        self._under_way: set[_Task] = set()
        self._waiting: list[_Task] = []
        """Tasks of the next bundle."""
        self._arrived: list[tuple[_Task, Any]] = []
        """Tasks that ended, with Dask's futures."""
        self._adrift: list[_Task] = []
        """Tasks that the scheduler lost."""
        self._news = threading.Event()
        self._lost_at: float | None = None
        self._closed = False
        self._seen: dict[str, int] = {}
        self._lost = 0
        self._client: Any = None
        try:
            self._client = self._connected(_ANSWERS)
            if self._local is not None:
                self._client.register_plugin(_without_interrupts())
            self._await_workers()
            self._offers = self._checked()
        except BaseException:
            self.close(at_once=True)
            raise
        threading.Thread(target=self._bundle, daemon=True).start()

    # As all workers

    @property
    def room(self) -> int:
        """Twice the workers: the next piece is there when one is done."""
        return max(2, 2 * len(self._seen))

    def submit(
        self, f: Callable[..., T], *args: Any, needs: Collection[str] = (), soon: bool = False
    ) -> Future[T]:
        promise: Future[T] = Future()
        task = _Task(pickle.dumps((f, args, _settings())), frozenset(needs), soon, promise)
        with self._lock:
            self._under_way.add(task)
            self._waiting.append(task)
        self._news.set()
        return promise

    def load(self) -> Load:
        self._mend()
        return Load(len(self._seen), self._lost, self._client.dashboard_link or "")

    def close(self, *, at_once: bool = False) -> None:
        """Leaves the cluster; a local one ends. Work under way is given up in any case."""
        self._closed = True
        for part in (self._client, self._local):
            if part is not None:
                part.close(timeout=5)

    # The start

    def _connected(self, seconds: float) -> Any:
        from distributed import Client

        place: dict[str, Any] = {"address": self._local if self._local is not None else self._place}
        if self._place.endswith(".json"):
            place = {"scheduler_file": self._place}
            if not Path(self._place).exists():
                writes = "`dask scheduler --scheduler-file` writes it"
                raise UsageError(f"there is no file {self._place!r}; {writes}")
        elif self._local is None and "://" not in self._place:
            forms = "local:4, tcp://HOST:PORT, or a scheduler's file with the ending .json"
            raise UsageError(f"{self._place!r} names no cluster; give {forms}")
        try:
            return Client(**place, timeout=seconds, set_as_default=False, name="gradfuzz")
        except (OSError, ValueError) as error:
            why = " ".join(str(error).split())
            start = "is one running? `dask scheduler` starts it"
            raise UsageError(f"no Dask scheduler answers at {self._place}: {why}; {start}") from error

    def _await_workers(self) -> None:
        begun = time.monotonic()
        while not self._count():
            if time.monotonic() - begun > _JOINS:
                start = f"start some with `dask worker {self._place}`"
                raise UsageError(f"the scheduler at {self._place} has no workers after {_JOINS:g} s; {start}")
            time.sleep(0.1)

    def _checked(self) -> Mapping[str, Collection[str]]:
        """The systems that each worker offers, after the machines were compared."""
        found: dict[str, census.Facts] = self._client.run(census.facts, sorted(self._systems))
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        offers = {w: frozenset(workers[w]["resources"]) & self._systems for w in found if w in workers}
        found = {w: found[w] for w in offers}
        offered = frozenset[str]().union(*offers.values())
        if offered and any(not offer for offer in offers.values()):
            idle = sorted(self._systems - offered)
            if not idle:  # workers that offer nothing get nothing
                found = {w: f for w, f in found.items() if offers[w]}
        census.check(census.facts(self._systems), found, self._systems, offers)
        return offers

    @property
    def offered(self) -> frozenset[str]:
        """The systems that only some workers serve."""
        return frozenset[str]().union(*self._offers.values())

    # Work

    def _bundle(self) -> None:
        """Hands out and fetches, until the cluster is left."""
        while not self._closed:
            if self._news.wait(1.0):
                time.sleep(_TICK)
                self._news.clear()
                self._hand_out()
                self._fetch()

    def _hand_out(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        bundles: dict[tuple[frozenset[str], bool], list[_Task]] = {}
        for task in waiting:
            bundles.setdefault((task.needs & self.offered, task.soon), []).append(task)
        for (needs, soon), tasks in bundles.items():
            resources = dict.fromkeys(needs, 1) or None
            data = [task.data for task in tasks]
            try:
                futures = self._client.map(
                    done, data, pure=False, resources=resources, priority=int(soon), batch_size=len(data)
                )
            except Exception:  # noqa: BLE001 - the connection broke; `load` hands it out again
                self._drift(tasks)
                continue
            for task, future in zip(tasks, futures, strict=True):
                task.future = future
                future.add_done_callback(functools.partial(self._ended, task))

    def _ended(self, task: _Task, future: Any) -> None:
        """Runs in a thread of Dask's client."""
        with self._lock:
            self._arrived.append((task, future))
        self._news.set()

    def _fetch(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        whole: list[tuple[_Task, Any]] = []
        rest: list[tuple[_Task, Any]] = []
        for task, future in arrived:
            (whole if future.status == "finished" else rest).append((task, future))
        try:
            results = self._client.gather([future for _, future in whole]) if whole else []
        except Exception:  # noqa: BLE001 - one by one it is known which
            results, rest = [], arrived
        for (task, _), result in zip(whole, results, strict=False):
            self._keep(task, result)
        for task, future in rest:
            self._fetch_one(task, future)

    def _fetch_one(self, task: _Task, future: Any) -> None:
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        try:
            result = future.result(timeout=60)
        except KilledWorker as error:
            times = error.allowed_failures + 1
            words = f"{times} workers died of it, the last one {error.last_worker.address}"
            self._keep(task, WorkerDiedError(words))
        except (FutureCancelledError, OSError, TimeoutError):  # lost, by the scheduler or on its way
            self._drift([task])
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            self._keep(task, error)
        else:
            self._keep(task, result)

    def _drift(self, tasks: list[_Task]) -> None:
        with self._lock:
            self._adrift += tasks
            self._lost_at = self._lost_at or time.monotonic()

    def _keep(self, task: _Task, result: Any) -> None:
        with self._lock:
            if task not in self._under_way:
                return
            self._under_way.discard(task)
        task.future = None
        if not task.promise.set_running_or_notify_cancel():
            return
        if isinstance(result, BaseException):
            task.promise.set_exception(result)
        else:
            task.promise.set_result(result)

    # What got lost

    def _mend(self) -> None:
        """Hands out again what the scheduler lost, as soon as it answers."""
        if self._count():
            with self._lock:
                self._waiting += self._adrift
                self._adrift, self._lost_at = [], None
            self._news.set()
            return
        with self._lock:
            self._lost_at = self._lost_at or time.monotonic()
            late = time.monotonic() - self._lost_at > _PATIENCE
        if late:
            words = f"{self._place} has neither scheduler nor workers since {_PATIENCE:g} s"
            for task in list(self._under_way):
                self._keep(task, UsageError(f"{words}; --resume continues the sweep"))
        elif self._client.status == "closed":
            try:
                self._client = self._connected(2.0)
            except UsageError:
                return
            with self._lock:
                self._waiting, self._arrived, self._adrift = [], [], list(self._under_way)

    def _count(self) -> int:
        """The workers that the scheduler knows now; 0 without a scheduler."""
        try:
            now: dict[str, int] = self._client.nthreads() if self._client.status == "running" else {}
        except Exception:  # noqa: BLE001 - the connection just broke
            now = {}
        self._lost += len(self._seen.keys() - now.keys())
        self._seen = now
        return len(now)


def _local(place: str) -> Any:
    """A cluster of processes of this machine."""
    import dask
    from distributed import LocalCluster

    number = place.removeprefix(_LOCAL)
    if not number.isdigit() or not int(number):
        raise UsageError(f"{place!r} names no cluster; local:4 has four workers")
    with dask.config.set({"distributed.scheduler.allowed-failures": DEATHS - 1}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a slow disk at the start is nobody's concern
        return LocalCluster(
            n_workers=int(number), threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        )


def _without_interrupts() -> Any:
    """Ctrl-C reaches every process of a terminal, and is the sweep's affair."""
    from distributed import WorkerPlugin

    class WithoutInterrupts(WorkerPlugin):
        def setup(self, worker: object) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return WithoutInterrupts()


def _settings() -> dict[str, str]:
    """The variables by which gradfuzz is set: limits, the device."""
    return {name: value for name, value in os.environ.items() if name.startswith("GRADFUZZ_")}


# In a worker

_one = threading.Lock()


def done(data: bytes) -> Any:
    """The result of a piece of work. A process does one at a time: what it keeps is made for one thread."""
    with _one:
        for name, value in THREADS.items():
            os.environ.setdefault(name, value)
        collect_less()
        f, args, settings = pickle.loads(data)  # noqa: S301 - from the sweep, by the scheduler that it chose
        os.environ.update(settings)
        return f(*args)

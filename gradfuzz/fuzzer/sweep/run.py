"""The sweep: bounded, seeded, repeatable; a stream of events.

Programs are drawn in batches, each seeded by the sweep's seed and its number. Any free worker judges a whole
batch. Batches are added up in their order, so the findings do not depend on timing. Only a time limit or
Ctrl-C makes two sweeps differ, and then the last event says that the sweep is not complete.
"""

from __future__ import annotations

import datetime
import itertools
import os
import shlex
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.clusters import clusters
from gradfuzz.fuzzer.findings.prove import Proof, prove
from gradfuzz.fuzzer.questions.weighted import CHECKS
from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.results.events import Event, FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import Batch, WorkItem, drawn
from gradfuzz.fuzzer.sweep.batch import run as run_batch
from gradfuzz.fuzzer.sweep.memo import Forgetful, Memo, Work
from gradfuzz.fuzzer.sweep.shrink_queues import Queue, ShrinkQueues
from gradfuzz.fuzzer.sweep.totals import Totals
from gradfuzz.fuzzer.sweep.workers import Here, Pool, Workers
from gradfuzz.fuzzer.verdict.shared import is_slow
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.device import DEVICE, WITH_DEVICES, device
from gradfuzz.oracles.foreign.resource_limits import flags
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.printer import to_text
from gradfuzz.strategies import FAMILIES

_BATCH = 16
"""Programs in a batch: enough for oracles that answer many at once, few enough for steady progress."""

_FIRST = 4
"""Programs in the first batch, which waits for the libraries to load. The second has the rest of `_BATCH`."""

_HEARTBEAT = 1.0
"""Seconds between two progress events while workers are busy."""

_TRIES = 2
"""How often work is handed out again after a worker process died: other work may have caused it."""

_CHEAP = ("engine", "mutant")
"""Libraries that are asked without worker processes."""


@dataclass(frozen=True, slots=True)
class SweepConfig:
    """The settings of a sweep. The defaults are an everyday sweep."""

    targets: tuple[str, ...]
    """Names of oracles, or of libraries with all their entry points."""
    families: tuple[str, ...] = ("loops",)
    seed: int = 0
    max_examples: int = 96
    """Programs per family; every target is asked about each."""
    max_time: float | None = None
    """Seconds after which no new batch begins."""
    precisions: tuple[Precision, ...] = ("float64", "float32")
    orders: tuple[int, ...] = (1, 2, 3)
    checks: tuple[str, ...] = CHECKS
    jobs: int | None = None
    """Worker processes; None: one per core, at most four, and none where every target is cheap."""
    device: str = field(default_factory=device)
    """Where JAX and Torch compute: the device of this process, from `GRADFUZZ_DEVICE`."""


def sweep(config: SweepConfig, memo: Memo | None = None) -> Iterator[Event]:
    """The events of one sweep: `SweepStarted`, then `Progress` and `FindingFound` as they come, and
    `SweepFinished` at last.

    `memo` is asked before a piece of work is handed out, and gets its result. `SweepFinished` also comes
    after Ctrl-C, with the findings until then. Raises `UsageError`, `UnknownTargetError` and
    `MissingExtraError` before the first event.
    """
    oracles = _oracles(config)
    for oracle in oracles:
        oracle.close()  # workers open their own
    return _Sweep(config, oracles, memo or Forgetful()).events()


def _oracles(config: SweepConfig) -> list[Oracle]:
    if not config.targets:
        raise UsageError("a sweep needs a target; `gradfuzz targets` lists them")
    for name, values, known in (
        ("family", config.families, tuple(FAMILIES)),
        ("precision", config.precisions, tuple(FORMATS)),
        ("order", config.orders, (1, 2, 3)),
        ("check", config.checks, CHECKS),
    ):
        if not values:
            raise UsageError(f"a sweep needs at least one {name} of {', '.join(map(str, known))}")
        for value in values:
            if value not in known:
                raise UsageError(f"unknown {name} {value!r}; there is {', '.join(map(str, known))}")
    if config.max_examples < 1:
        raise UsageError(f"max_examples is {config.max_examples}; a sweep needs at least one program")
    if config.max_time is not None and not config.max_time > 0:
        raise UsageError(f"max_time is {config.max_time}; give a time in seconds above 0")
    if config.jobs is not None and config.jobs < 1:
        raise UsageError(f"jobs is {config.jobs}; at least one process has to do the work")
    if config.device != device():
        raise UsageError(
            f"device is {config.device!r}, and this process has {device()!r}; set {DEVICE} before the sweep"
            " begins"
        )
    elsewhere = [
        t
        for t in config.targets
        if config.device != "cpu" and TargetName.of(t).library not in (*WITH_DEVICES, *_CHEAP)
    ]
    if elsewhere:
        raise UsageError(
            f"{elsewhere[0]} is asked on the CPU only; the targets with a device are"
            f" {' and '.join(WITH_DEVICES)}"
        )
    found: dict[str, Oracle] = {}
    together = any(FAMILIES[family].together for family in config.families)
    for target in config.targets:
        found.update({way.name: way for way in resolve(target, together=together, supervised=True)})
    return list(found.values())


class _Interrupts:
    """Ctrl-C as a flag while the consumer of events runs, as an exception while the sweep itself works.

    A second Ctrl-C is always an exception.
    """

    def __init__(self) -> None:
        self.pending = False
        self.inside = False
        self._before: Any = None

    def __enter__(self) -> _Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.inside or self.pending:
            self.pending = True
            raise KeyboardInterrupt
        self.pending = True


class _Sweep:
    def __init__(self, config: SweepConfig, oracles: list[Oracle], memo: Memo) -> None:
        self._config = config
        self._memo = memo
        self._oracles = [(o.name, o.version) for o in oracles]
        self._totals = Totals(self._oracles, config.families)
        self._shrink_queues = ShrinkQueues({o.name for o in oracles if is_slow(o)})
        self._environment = environment(datetime.datetime.now(datetime.UTC))
        self._started = time.monotonic()
        self._beat = self._started
        self._latest = ""
        self._cut_short = False
        self._interrupts = _Interrupts()
        self._workers = self._begin()
        self._tries: Counter[tuple[object, ...]] = Counter()

    def events(self) -> Iterator[Event]:
        config = self._config
        interrupted = False
        with self._interrupts:
            yield SweepStarted(
                config.seed,
                tuple(self._oracles),
                config.families,
                config.max_examples,
                config.max_time,
                rerun_command(config),
            )
            stream = self._work()
            ended = False
            try:
                while True:
                    self._interrupts.inside = True
                    if self._interrupts.pending:
                        raise KeyboardInterrupt
                    event = next(stream, None)
                    self._interrupts.inside = False
                    if event is None:
                        ended = True
                        break
                    yield event
            except KeyboardInterrupt:
                interrupted = True
            finally:
                self._interrupts.inside = False
                self._workers.close(at_once=not ended)
            yield self._finished(interrupted)

    def _begin(self) -> Workers:
        jobs = self._config.jobs
        if jobs in (None, 1) and all(TargetName.of(name).library in _CHEAP for name, _ in self._oracles):
            return Here()
        return Pool(jobs or max(1, min(4, os.cpu_count() or 1)))

    # Work

    def _items(self) -> Iterator[WorkItem]:
        config = self._config
        for family in config.families:
            first = 0
            for number in itertools.count():
                count = min((_FIRST, _BATCH - _FIRST, _BATCH)[min(number, 2)], config.max_examples - first)
                if count <= 0:
                    break
                yield WorkItem(
                    number,
                    first,
                    count,
                    family,
                    config.seed,
                    tuple(name for name, _ in self._oracles),
                    config.precisions,
                    config.orders,
                    config.checks,
                )
                first += count

    def _work(self) -> Iterator[Event]:
        """Runs at most two batches per worker and one proof per shrink queue; takes results in order."""
        items = self._items()
        batches: deque[tuple[WorkItem, Future[Batch]]] = deque()
        proofs: dict[Queue, tuple[Raw, Future[Proof]]] = {}
        at_once = 2 * self._workers.size if self._workers.size > 1 else 1
        exhausted = False
        # Drawn here too, so that there is a program to show while the workers start.
        self._latest = to_text(drawn(next(self._items()))[-1].program)
        yield self._progress(
            "drawing programs"
            if self._workers.size == 1
            else f"starting {self._workers.size} worker processes"
        )
        while True:
            while not exhausted and len(batches) < at_once:
                item = None if self._late() else next(items, None)
                if item is None:
                    exhausted = True
                else:
                    batches.append((item, self._give(run_batch, item)))
            if self._late():
                self._shrink_queues.close()
                while batches and batches[-1][1].cancel():
                    batches.pop()
            for queue, raw in self._shrink_queues.ready():
                proofs[queue] = raw, self._give(prove, raw, self._shrink_queues.known(queue))
            self._totals.count(self._shrink_queues.skipped)
            self._shrink_queues.skipped.clear()
            if not batches and not proofs:
                return
            busy: list[Future[Any]] = [
                *(future for _, future in proofs.values()),
                *(future for _, future in batches),
            ]
            if not any(future.done() for future in busy):
                wait(busy, timeout=_HEARTBEAT, return_when=FIRST_COMPLETED)
            try:
                yield from self._taken(batches, proofs)
            except BrokenProcessPool:
                yield self._restarted(batches, proofs)

    def _give(self, do: Callable[..., Any], work: Work, *more: Any) -> Future[Any]:
        """The future of a piece of work, done at once where the memo has it.

        `more` arguments follow from earlier work.
        """
        known = self._memo.recall(work)
        if known is None:
            return self._workers.submit(do, work, *more)
        future: Future[Any] = Future()
        future.set_result(known)
        return future

    def _taken(
        self, batches: deque[tuple[WorkItem, Future[Batch]]], proofs: dict[Queue, tuple[Raw, Future[Proof]]]
    ) -> Iterator[Event]:
        """Takes what is ready: the first batches, and any proof."""
        while batches and batches[0][1].done():
            batch = batches[0][1].result()
            item, _ = batches.popleft()
            self._memo.keep(item, batch)
            self._latest = batch.latest
            self._totals.add(batch, item.family)
            for raw in batch.raws:
                self._shrink_queues.add(raw)
            first = item.first + 1
            yield self._progress(f"judged programs {first}-{first + batch.programs - 1}")
        for queue in [q for q, (_, future) in proofs.items() if future.done()]:
            proof = proofs[queue][1].result()
            raw, _ = proofs.pop(queue)
            self._memo.keep(raw, proof)
            finding = self._totals.settle(raw, proof)
            self._shrink_queues.settled(raw, proof)
            if finding is not None:
                yield FindingFound(finding)
        if time.monotonic() - self._beat >= _HEARTBEAT:
            yield self._progress(self._doing(batches, proofs))

    def _restarted(
        self, batches: deque[tuple[WorkItem, Future[Batch]]], proofs: dict[Queue, tuple[Raw, Future[Proof]]]
    ) -> Progress:
        """Starts new processes after a library crashed one; hands out its work again, a few times."""
        if not self._tries:
            self._workers.check_started()
        self._workers.close(at_once=True)
        self._workers = Pool(self._workers.size)
        items, raws = [item for item, _ in batches], [raw for raw, _ in proofs.values()]
        batches.clear()
        proofs.clear()
        lost = 0
        for item in items:
            if self._again(("batch", item.family, item.number)):
                batches.append((item, self._give(run_batch, item)))
            else:
                lost += 1
        for raw in raws:
            if self._again((raw.case.oracle, raw.family, raw.index)):
                queue = self._shrink_queues.queue(raw.case.oracle)
                proofs[queue] = raw, self._give(prove, raw, self._shrink_queues.known(queue))
            else:
                lost += 1
                self._shrink_queues.settled(raw, Proof(None))
        self._cut_short = self._cut_short or lost > 0
        given_up = f"; {lost} pieces of work are given up" if lost else ""
        return self._progress(f"a worker process died, starting new ones{given_up}")

    def _again(self, work: tuple[object, ...]) -> bool:
        self._tries[work] += 1
        return self._tries[work] <= _TRIES

    def _late(self) -> bool:
        late = self._config.max_time is not None and time.monotonic() - self._started >= self._config.max_time
        self._cut_short = self._cut_short or late
        return late

    def _doing(
        self, batches: deque[tuple[WorkItem, Future[Batch]]], proofs: dict[Queue, tuple[Raw, Future[Proof]]]
    ) -> str:
        parts = []
        if batches:
            parts.append(f"judging programs from {batches[0][0].first + 1} on")
        parts += [f"shrinking {raw.case.oracle} on program {raw.index + 1}" for raw, _ in proofs.values()]
        return ", ".join(parts)

    # Events

    def _progress(self, doing: str) -> Progress:
        self._beat = time.monotonic()
        totals = self._totals
        return Progress(
            self._beat - self._started,
            totals.programs,
            totals.checks,
            doing,
            self._latest,
            totals.summaries(),
        )

    def _finished(self, interrupted: bool) -> SweepFinished:
        totals = self._totals
        findings = totals.findings()
        return SweepFinished(
            seed=self._config.seed,
            seconds=time.monotonic() - self._started,
            programs=totals.programs,
            checks=totals.checks,
            summaries=totals.summaries(),
            findings=findings,
            complete=not (interrupted or self._cut_short),
            interrupted=interrupted,
            rerun=rerun_command(self._config),
            coverage=totals.coverage,
            clusters=clusters(findings),
            tested=totals.tested,
            conventions=totals.conventions,
            environment=self._environment,
        )


def rerun_command(config: SweepConfig) -> str:
    """The command that repeats the sweep. Defaults are left out, except seed and number of programs."""
    default = SweepConfig(config.targets)
    parts = [
        "gradfuzz",
        "sweep",
        *config.targets,
        "--seed",
        str(config.seed),
        "--max-examples",
        str(config.max_examples),
    ]
    for flag, value, usual in (
        ("--family", config.families, default.families),
        ("--dtypes", config.precisions, default.precisions),
        ("--orders", config.orders, default.orders),
        ("--checks", config.checks, default.checks),
    ):
        if value != usual:
            parts += [flag, ",".join(map(str, value))]
    if config.device != "cpu":
        parts += ["--device", config.device]
    if config.max_time is not None:
        parts += ["--max-time", f"{config.max_time:g}"]
    if config.jobs is not None:
        parts += ["--jobs", str(config.jobs)]
    parts += flags()
    return shlex.join(parts)

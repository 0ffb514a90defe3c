"""The sweep: bounded, seeded, repeatable; a stream of events.

Programs are drawn in batches, each seeded by the sweep's seed and its number. Any free worker judges a whole
batch. Batches are added up in their order, so the findings do not depend on timing. Only a time limit or
Ctrl-C makes two sweeps differ, and then the last event says that the sweep is not complete.
"""

from __future__ import annotations

import datetime
import itertools
import shlex
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.clusters import clusters
from gradfuzz.fuzzer.findings.prove import Proof, prove
from gradfuzz.fuzzer.questions.fitting import fits
from gradfuzz.fuzzer.questions.weighted import CHECKS
from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.results.events import Event, FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.failure import failure_of
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import Batch
from gradfuzz.fuzzer.sweep.batch import run as run_batch
from gradfuzz.fuzzer.sweep.cases import drawn
from gradfuzz.fuzzer.sweep.memo import Memo, Result, Work
from gradfuzz.fuzzer.sweep.set_up import SetUp
from gradfuzz.fuzzer.sweep.shrink_queues import Bucket, Queue, ShrinkQueues, bucket_of
from gradfuzz.fuzzer.sweep.totals import Totals
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.fuzzer.sweep.workers import Here, Pool, Workers, usual_size
from gradfuzz.fuzzer.verdict.judge import check_name
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

_BATCH_OF_SLOW = 4
"""The same where a slow way is asked about every program."""

_BATCH_OF_COMPILED = 32
"""The same where programs are compiled together, at the price of a few."""

_FIRST = 4
"""Programs in the first batch, which waits for the libraries to load. The second has the rest of `_BATCH`."""

_HEARTBEAT = 1.0
"""Seconds between two progress events while workers are busy."""

_TRIES = 2
"""How often work is handed out again after a worker process died: other work may have caused it."""

_GRACE = 3.0
"""Seconds after the time limit until what is under way is given up."""

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
    """Seconds after which no new batch begins. What still runs a little later is given up."""
    precisions: tuple[Precision, ...] = ("float64", "float32")
    orders: tuple[int, ...] = (1, 2, 3)
    checks: tuple[str, ...] = CHECKS
    jobs: int | None = None
    """Worker processes; None: one per core, at most four, and none where every target is cheap."""
    calls: str = ""
    """A file of recorded calls, with which a sweep of functions begins."""
    shrink: bool = True
    """Whether what is found is made smaller. Otherwise a finding shows the program as it was drawn."""
    device: str = field(default_factory=device)
    """Where JAX and Torch compute: the device of this process, from `GRADFUZZ_DEVICE`."""


def sweep(config: SweepConfig, memo: Memo | None = None) -> Iterator[Event]:
    """The events of one sweep: `SweepStarted`, then `Progress` and `FindingFound` as they come, and
    `SweepFinished` at last.

    `memo` is asked before a piece of work is handed out, and gets its result. `SweepFinished` also comes
    after Ctrl-C, with the findings until then. Raises `UsageError`, `UnknownTargetError` and
    `MissingExtraError` before the first event.
    """
    started = time.monotonic()
    _check(config)
    workers = _workers(config)
    try:
        ways = _ways(config, workers)
    except BaseException:
        workers.close(at_once=True)
        raise
    return _Sweep(config, workers, ways, memo, started).events()


def _check(config: SweepConfig) -> None:
    """Raises `UsageError` for settings that make no sense."""
    if not config.targets:
        raise UsageError("a sweep needs a target; `gradfuzz targets` lists them")
    for name, values, known in (
        ("family", config.families, tuple(FAMILIES)),
        ("precision", config.precisions, tuple(FORMATS)),
        ("order", config.orders, (1, 2, 3)),
        ("check", config.checks, CHECKS),
    ):
        listed = ", ".join(map(str, known))
        if not values:
            raise UsageError(f"a sweep needs at least one {name} of {listed}")
        for value in values:
            if value not in known:
                raise UsageError(f"unknown {name} {value!r}; there is {listed}")
    if config.calls:
        raise UsageError(f"calls is {config.calls!r}; recorded calls are for the family 'functions'")
    if config.max_examples < 1:
        raise UsageError(f"max_examples is {config.max_examples}; a sweep needs at least one program")
    if config.max_time is not None and not config.max_time > 0:
        raise UsageError(f"max_time is {config.max_time}; give a time in seconds above 0")
    if config.jobs is not None and config.jobs < 1:
        raise UsageError(f"jobs is {config.jobs}; at least one process has to do the work")
    if config.device != device():
        own = f"device is {config.device!r}, and this process has {device()!r}"
        raise UsageError(f"{own}; set {DEVICE} before the sweep begins")
    for target in config.targets if config.device != "cpu" else ():
        if TargetName.of(target).library not in (*WITH_DEVICES, *_CHEAP):
            able = " and ".join(WITH_DEVICES)
            raise UsageError(f"{target} is asked on the CPU only; the targets with a device are {able}")


def _workers(config: SweepConfig) -> Workers:
    libraries = {TargetName.of(name).library for name in config.targets}
    if config.jobs in (None, 1) and libraries <= set(_CHEAP):
        return Here()
    return Pool(config.jobs or usual_size())


@dataclass(frozen=True, slots=True)
class _Way:
    """What a sweep has to know of an oracle."""

    name: str
    version: str
    slow: bool
    compiles: bool
    """Whether the programs of its questions are compiled, many at once: each shrinking takes long."""
    narrow: frozenset[str]
    """The families of which it refuses most of what is drawn for everybody."""


def _ways(config: SweepConfig, workers: Workers) -> list[_Way]:
    """The ways of all targets. A worker lists them, and has their processes for its first batch."""
    together = any(FAMILIES[family].together for family in config.families)
    try:
        return workers.submit(_listed, config, together).result()
    except BrokenProcessPool:
        workers.check_started()
        raise


def _listed(config: SweepConfig, together: bool) -> list[_Way]:
    oracles = [o for name in config.targets for o in resolve(name, together=together, supervised=True)]
    asked = config.precisions, config.orders

    def narrow(target: Oracle) -> frozenset[str]:
        return frozenset(family for family in config.families if not fits(target, family, *asked))

    return list(
        {
            o.name: _Way(o.name, o.version, o.traits.slow, o.traits.at_once > 1, narrow(o)) for o in oracles
        }.values()
    )


class Interrupts:
    """Ctrl-C as a flag while the consumer of events runs, as an exception while the sweep itself works.

    A second Ctrl-C is always an exception.
    """

    def __init__(self) -> None:
        self.pending = False
        self.inside = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def next(self, stream: Iterator[Event]) -> Event | None:
        """The next event of the sweep, which works at it; None after the last."""
        self.inside = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            return next(stream, None)
        finally:
            self.inside = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.inside or self.pending:
            self.pending = True
            raise KeyboardInterrupt
        self.pending = True


class _Sweep:
    def __init__(
        self, config: SweepConfig, workers: Workers, ways: list[_Way], memo: Memo | None, started: float
    ) -> None:
        self._config = config
        self._workers = workers
        self._memo = memo
        self._ways = ways
        self._oracles = [(way.name, way.version) for way in ways]
        self._totals = Totals(self._oracles, config.families)
        slow = {way.name for way in ways if way.slow}
        compiled = {way.name for way in ways if way.compiles}
        together = _BATCH_OF_COMPILED if len(compiled) == len(ways) else _BATCH
        self._batch = _BATCH_OF_SLOW if slow.intersection(config.targets) else together
        self._set_up = SetUp()
        self._shrink_queues = ShrinkQueues(slow | compiled)
        self._met: set[Bucket] = set()
        self._environment = environment(datetime.datetime.now(datetime.UTC))
        self._started = started
        self._beat = self._started
        self._latest = ""
        self._cut_short = False
        self._given_up = False
        self._interrupts = Interrupts()
        self._tries: Counter[tuple[object, ...]] = Counter()
        self._batches: deque[tuple[WorkItem, Future[Batch]]] = deque()
        self._proofs: dict[Queue, tuple[Raw, Future[Proof]]] = {}

    def events(self) -> Iterator[Event]:
        config = self._config
        interrupted = False
        with self._interrupts:
            limits = config.max_examples, config.max_time
            targets = tuple(self._oracles)
            yield SweepStarted(config.seed, targets, config.families, *limits, rerun_command(config))
            stream = self._work()
            ended = False
            try:
                while (event := self._interrupts.next(stream)) is not None:
                    yield event
                ended = True
            except KeyboardInterrupt:
                interrupted = True
            finally:
                self._workers.close(at_once=not ended or self._given_up)
            yield self._finished(interrupted)

    # Work

    def _items(self) -> Iterator[WorkItem]:
        """Batches of all families by turns, so that a time limit leaves none out."""
        groups = [
            self._batches_of(family, names, fits)
            for family in self._config.families
            for names, fits in self._groups(family)
        ]
        rounds = itertools.zip_longest(*groups)
        return (item for together in rounds for item in together if item is not None)

    def _groups(self, family: str) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The ways that are asked about the same programs, and whether these are drawn for them.

        A system of which each way refuses most of a family has programs of its own.
        """
        systems: dict[str, list[_Way]] = {}
        for way in self._ways:
            systems.setdefault(TargetName.of(way.name).owner, []).append(way)
        own = [ways for ways in systems.values() if all(family in way.narrow for way in ways)]
        alone = {way.name for ways in own for way in ways}
        rest = tuple(way.name for way in self._ways if way.name not in alone)
        if rest:
            yield rest, False
        for ways in own:
            yield tuple(way.name for way in ways), True

    def _batches_of(self, family: str, names: tuple[str, ...], fits: bool) -> Iterator[WorkItem]:
        config = self._config
        named = tuple(name for name in names if name in config.targets)
        first = 0
        for number in itertools.count():
            second = self._batch - _FIRST or self._batch
            size = (_FIRST, second, self._batch)[min(number, 2)]
            count = min(size, config.max_examples - first)
            if count <= 0:
                return
            yield WorkItem(
                number,
                first,
                count,
                family,
                config.seed,
                names,
                config.precisions,
                config.orders,
                config.checks,
                named,
                fits,
            )
            first += count

    def _work(self) -> Iterator[Event]:
        """Keeps every worker busy, with proofs before batches and one proof per shrink queue; takes results
        in order. Nothing waits in front of a worker, so that a proof begins as soon as one is free.
        """
        items = self._items()
        batches, proofs, queues, size = self._batches, self._proofs, self._shrink_queues, self._workers.size
        exhausted = False
        # Drawn here too, so that there is a program to show while the workers start.
        self._latest = to_text(drawn(replace(next(self._items()), fits=False))[-1].program)
        yield self._progress("drawing programs" if size == 1 else f"starting {size} worker processes")
        while True:
            if self._late():
                queues.close()
            for _, raw in queues.ready():
                self._prove(raw)
            self._totals.count(queues.skipped)
            queues.skipped.clear()
            while not exhausted and self._running() < size and len(batches) < 2 * size:
                item = None if self._late() else next(items, None)
                exhausted = item is None
                if item is not None:
                    batches.append((item, self._give(run_batch, item)))
            if not batches and not proofs:
                if not (few := self._set_up.too_few()):
                    return
                for raw in few:
                    queues.add(raw)
                continue
            if self._late(_GRACE):
                self._given_up = True
                self._totals.count([raw for raw, _ in proofs.values()])
                return
            busy: list[Future[Any]] = [future for _, future in proofs.values()]
            busy += [future for _, future in batches]
            if not any(future.done() for future in busy):
                wait(busy, timeout=_HEARTBEAT, return_when=FIRST_COMPLETED)
            try:
                yield from self._taken()
            except BrokenProcessPool:
                yield self._restarted()

    def _running(self) -> int:
        futures: list[Future[Any]] = [future for _, future in self._batches]
        futures += [future for _, future in self._proofs.values()]
        return sum(not future.done() for future in futures)

    def _prove(self, raw: Raw) -> None:
        """Hands out the proof of a disagreement that is its queue's turn."""
        queues, queue = self._shrink_queues, self._shrink_queues.queue(raw.case.oracle)
        more = queues.known(queue), queues.may_be_explained(raw)
        self._proofs[queue] = raw, self._give(prove, raw, *more, self._config.shrink)

    def _give(self, do: Callable[..., Any], work: Work, *more: Any) -> Future[Any]:
        """The future of a piece of work, done at once where the memo has it.

        `more` arguments follow from earlier work.
        """
        known = self._memo.recall(work) if self._memo is not None else None
        if known is None:
            return self._workers.submit(do, work, *more)
        future: Future[Any] = Future()
        future.set_result(known)
        return future

    def _taken(self) -> Iterator[Event]:
        """Takes what is ready: the first batches, and any proof."""
        while self._batches and self._batches[0][1].done():
            batch = self._batches[0][1].result()
            item, _ = self._batches.popleft()
            self._keep(item, batch)
            self._latest = batch.latest
            self._totals.add(batch, item.family)
            raws = self._set_up.ready(batch.counts, batch.raws)
            for raw in raws:
                self._shrink_queues.add(raw)
            first = item.first + 1
            yield self._progress(f"judged programs {first}-{first + batch.programs - 1}")
            for raw in raws:
                if (bucket := bucket_of(raw)) not in self._met:
                    self._met.add(bucket)
                    yield self._progress(f"shrinking it, program {raw.index + 1}", met=_in_words(raw))
        for queue in [q for q, (_, future) in self._proofs.items() if future.done()]:
            proof = self._proofs[queue][1].result()
            raw, _ = self._proofs.pop(queue)
            self._keep(raw, proof)
            finding = self._totals.settle(raw, proof)
            self._shrink_queues.settled(raw, proof)
            if finding is not None:
                yield FindingFound(finding)
        if time.monotonic() - self._beat >= _HEARTBEAT:
            yield self._progress(self._doing())

    def _keep(self, work: Work, result: Result) -> None:
        if self._memo is not None:
            self._memo.keep(work, result)

    def _restarted(self) -> Progress:
        """Starts new processes after a library crashed one; hands out its work again, a few times."""
        if not self._tries:
            self._workers.check_started()
        self._workers.close(at_once=True)
        self._workers = Pool(self._workers.size)
        items, raws = [item for item, _ in self._batches], [raw for raw, _ in self._proofs.values()]
        self._batches.clear()
        self._proofs.clear()
        lost = 0
        for item in items:
            if self._again(("batch", item.family, item.number, item.oracles)):
                self._batches.append((item, self._give(run_batch, item)))
            else:
                lost += 1
        for raw in raws:
            if self._again((raw.case.oracle, raw.family, raw.index)):
                self._prove(raw)
            else:
                lost += 1
                self._shrink_queues.settled(raw, Proof(None))
        self._cut_short = self._cut_short or lost > 0
        given_up = f"; {lost} pieces of work are given up" if lost else ""
        return self._progress(f"a worker process died, starting new ones{given_up}")

    def _again(self, work: tuple[object, ...]) -> bool:
        self._tries[work] += 1
        return self._tries[work] <= _TRIES

    def _late(self, grace: float = 0.0) -> bool:
        most = self._config.max_time
        late = most is not None and time.monotonic() - self._started >= most + grace
        self._cut_short = self._cut_short or late
        return late

    def _doing(self) -> str:
        parts = [f"judging programs from {item.first + 1} on" for item, _ in list(self._batches)[:1]]
        proofs = self._proofs.values()
        parts += [f"shrinking {raw.case.oracle} on program {raw.index + 1}" for raw, _ in proofs]
        return ", ".join(parts)

    # Events

    def _progress(self, doing: str, met: str = "") -> Progress:
        self._beat = time.monotonic()
        totals, seconds = self._totals, self._beat - self._started
        summaries = totals.summaries()
        return Progress(seconds, totals.programs, totals.checks, doing, self._latest, summaries, met)

    def _finished(self, interrupted: bool) -> SweepFinished:
        totals = self._totals
        findings = totals.findings()
        return SweepFinished(
            seed=self._config.seed,
            seconds=time.monotonic() - self._started,
            programs=totals.programs,
            checks=totals.checks,
            summaries=totals.summaries(self._set_up.faults()),
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


def _in_words(raw: Raw) -> str:
    """The disagreement before it is shrunk."""
    case = raw.case
    name = case.kind.value if case.kind is not None else case.verdict.value
    if case.verdict is Verdict.CRASHED:
        name = failure_of(case.message).value
    numbers = ""
    if case.worst is not None and case.expected is not None and case.got is not None:
        entry, index = case.worst
        place = f"{entry}{list(index)}" if index else entry
        numbers = f" by {place}: expected {case.expected:.6g}, got {case.got:.6g}"
    check = check_name(case.question.modes)
    return f"{name} in {case.oracle}, {check} {case.question.precision}{numbers or f': {case.message}'}"


def rerun_command(config: SweepConfig) -> str:
    """The command that repeats the sweep. Defaults are left out, except seed and number of programs."""
    default = SweepConfig(config.targets)
    parts = ["gradfuzz", "sweep", *config.targets]
    parts += ["--seed", str(config.seed), "--max-examples", str(config.max_examples)]
    for flag, value, usual in (
        ("--family", config.families, default.families),
        ("--dtypes", config.precisions, default.precisions),
        ("--orders", config.orders, default.orders),
        ("--checks", config.checks, default.checks),
    ):
        if value != usual:
            parts += [flag, ",".join(map(str, value))]
    if config.calls:
        parts += ["--calls", config.calls]
    if not config.shrink:
        parts.append("--no-shrink")
    if config.device != "cpu":
        parts += ["--device", config.device]
    if config.max_time is not None:
        parts += ["--max-time", f"{config.max_time:g}"]
    if config.jobs is not None:
        parts += ["--jobs", str(config.jobs)]
    return shlex.join([*parts, *flags()])

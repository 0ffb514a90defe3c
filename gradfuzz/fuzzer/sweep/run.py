"""The sweep: bounded, seeded, repeatable; a stream of events.

A sweep has plans: what is asked, in which order. One is about programs (`programs`), one about the functions
of libraries. Each has workers of its own; the plans take turns, so that a time limit leaves none out. What a
plan finds does not depend on timing. Only a time limit or Ctrl-C makes two sweeps differ, and then the last
event says that the sweep is not complete.
"""

from __future__ import annotations

import datetime
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.results.events import Event, Progress, SweepFinished, SweepStarted, TargetSummary
from gradfuzz.fuzzer.results.finding import Cluster, Finding
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault, attempt, own_fault
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.sweep.config import SweepConfig, rerun_command, settings_of
from gradfuzz.fuzzer.sweep.interrupts import Interrupts
from gradfuzz.fuzzer.sweep.memo import Ledger, Memo
from gradfuzz.fuzzer.workers.worker import Workers

_HEARTBEAT = 1.0
"""Seconds between two progress events while workers are busy."""

_GRACE = 3.0
"""Seconds after the time limit until what is under way is given up."""


class Crew:
    """The workers of a plan, and how much they have under way. `woken` is set when some of it is done."""

    def __init__(self, workers: Workers, woken: threading.Event) -> None:
        self.workers = workers
        self.load = workers.load()
        self._woken = woken
        self._ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._under_way = 0

    def give(
        self, doing: str, do: Callable[..., Any], *args: Any, needs: Collection[str], soon: bool = False
    ) -> Future[Any]:
        """Hands out work. Where gradfuzz itself fails at it, its result is an `OwnFault`."""
        self._under_way += 1
        future: Future[Any] = self.workers.submit(attempt, doing, do, *args, needs=needs, soon=soon)
        future.add_done_callback(self._note)
        return future

    def _note(self, future: Future[Any]) -> None:
        self._ended.put(future)
        self._woken.set()

    @property
    def under_way(self) -> int:
        """How much work is under way."""
        while not self._ended.empty():
            self._ended.get()
            self._under_way -= 1
        return self._under_way

    def lost(self) -> int:
        """How many workers died since this was asked before. Their work is handed out again."""
        before, self.load = self.load, self.workers.load()
        return self.load.lost - before.lost


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What came of a plan."""

    findings: tuple[Finding, ...]
    summaries: tuple[TargetSummary, ...]
    clusters: tuple[Cluster, ...]
    complete: bool = True
    coverage: Mapping[str, int] = field(default_factory=dict)
    tested: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    conventions: Mapping[str, int] = field(default_factory=dict)
    functions: tuple[FunctionSummary, ...] = ()
    own_faults: tuple[OwnFault, ...] = ()


class SweepPlan(Protocol):
    """What is asked, in which order, and what came of it so far."""

    crew: Crew
    targets: tuple[tuple[str, str], ...]
    """(oracle name, version)."""

    def work(self) -> Iterator[Event | None]:
        """Hands out work and takes results, until all is done. None: nothing can be done until some of the
        work has ended.
        """
        ...

    def left(self) -> Iterator[Event]:
        """At the end of a sweep that ended early: the findings that are whole."""
        ...

    def doing(self) -> str:
        """What is under way, in words."""
        ...

    def counts(self) -> tuple[int, int, tuple[TargetSummary, ...]]:
        """The programs or calls that were judged, the checks, and these by target."""
        ...

    def outcome(self) -> PlanOutcome: ...


class Sweep:
    """One sweep: what its plans have in common."""

    def __init__(self, config: SweepConfig, memo: Memo | None) -> None:
        self.config = config
        self.ledger = Ledger(memo, config.shard)
        self.woken = threading.Event()
        self.tried = Attempts()
        self.latest = ""
        """The latest program or call, as text."""
        self.plans: Sequence[SweepPlan] = ()
        self._interrupts = Interrupts()
        self._environment = environment(datetime.datetime.now(datetime.UTC))
        self._started = self._beat = self._latest_finding = time.monotonic()
        self._cut_short = self._given_up = self._lost = False

    def events(self, plans: Sequence[SweepPlan]) -> Iterator[Event]:
        """`SweepStarted`, then `Progress` and `FindingFound` as they come, and `SweepFinished` at last."""
        self.plans = plans
        config, interrupted, ended = self.config, False, False
        limits = config.max_examples, config.max_time
        with self._interrupts:
            yield SweepStarted(config.seed, self._targets(), config.families, *limits, rerun_command(config))
            stream = self._work()
            try:
                while (event := self._interrupts.next(stream)) is not None:
                    yield event
                ended = True
            except KeyboardInterrupt:
                interrupted = True
            except Exception as error:  # noqa: BLE001 - raised again where it is told on purpose
                self.lose(own_fault("going on with the sweep", error))
            finally:
                for plan in plans:
                    plan.crew.workers.close(at_once=not ended or self._given_up)
            for plan in plans:
                yield from plan.left()
            yield self._finished(interrupted)

    def _targets(self) -> tuple[tuple[str, str], ...]:
        return tuple(target for plan in self.plans for target in plan.targets)

    def _work(self) -> Iterator[Event]:
        """The events of all plans by turns."""
        streams = [plan.work() for plan in self.plans]
        while streams:
            waiting = True
            for stream in list(streams):
                try:
                    event = next(stream)
                except StopIteration:
                    streams.remove(stream)
                    waiting = False
                    continue
                if event is not None:
                    waiting = False
                    yield event
            if streams and self.late(_GRACE):
                self._given_up = True
                return
            if waiting and streams:
                self.woken.wait(_HEARTBEAT)
                self.woken.clear()
            if time.monotonic() - self._beat >= _HEARTBEAT:
                lost = sum(plan.crew.lost() for plan in self.plans)
                died = f"{lost} worker{'s' if lost > 1 else ''} died, and what they did is handed out again"
                doing = (plan.doing() for plan in self.plans)
                yield self.progress(died if lost > 0 else ", ".join(filter(None, doing)))

    def found(self, code: str = "") -> None:
        """A finding is told."""
        self._latest_finding = time.monotonic()
        self.latest = code or self.latest

    def lose(self, fault: OwnFault) -> None:
        """gradfuzz itself failed at something that was to be asked."""
        self.tried.keep(fault)
        self._lost = True

    def late(self, grace: float = 0.0) -> bool:
        """Whether the time limit is over."""
        most = self.config.max_time
        late = most is not None and time.monotonic() - self._started >= most + grace
        self._cut_short = self._cut_short or late
        return late

    def progress(self, doing: str, met: str = "") -> Progress:
        """The progress until now."""
        self._beat = time.monotonic()
        counts = [plan.counts() for plan in self.plans]
        crews = [plan.crew for plan in self.plans]
        return Progress(
            self._beat - self._started,
            sum(judged for judged, *_ in counts),
            sum(checks for _, checks, _ in counts),
            doing,
            self.latest,
            tuple(one for *_, summaries in counts for one in summaries),
            met,
            workers=sum(crew.load.workers for crew in crews),
            under_way=sum(crew.under_way for crew in crews),
            quiet=self._beat - self._latest_finding,
            dashboard=next((crew.load.dashboard for crew in crews if crew.load.dashboard), ""),
        )

    def _finished(self, interrupted: bool) -> SweepFinished:
        outcomes = [plan.outcome() for plan in self.plans]
        counts = [plan.counts() for plan in self.plans]
        cut = interrupted or self._cut_short or self._lost
        return SweepFinished(
            seed=self.config.seed,
            seconds=time.monotonic() - self._started,
            programs=sum(judged for judged, *_ in counts),
            checks=sum(checks for _, checks, _ in counts),
            summaries=tuple(one for outcome in outcomes for one in outcome.summaries),
            findings=tuple(sorted((one for outcome in outcomes for one in outcome.findings), key=rank)),
            complete=not cut and all(outcome.complete for outcome in outcomes),
            interrupted=interrupted,
            rerun=rerun_command(self.config),
            coverage={goal: n for outcome in outcomes for goal, n in outcome.coverage.items()},
            clusters=tuple(one for outcome in outcomes for one in outcome.clusters),
            tested={feature: n for outcome in outcomes for feature, n in outcome.tested.items()},
            conventions={row: n for outcome in outcomes for row, n in outcome.conventions.items()},
            environment=self._environment,
            functions=tuple(one for outcome in outcomes for one in outcome.functions),
            shard=self.ledger.shard(settings_of(self.config, self._targets())),
            own_faults=(*(fault for one in outcomes for fault in one.own_faults), *self.tried.faults),
        )

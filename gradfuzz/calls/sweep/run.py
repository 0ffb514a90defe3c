"""The sweep of a library's functions: the same settings, events and store as a sweep of programs.

Every function has a turn, in an order that the seed decides; then every function has its next turn, until
each had its calls or the time is up. Functions that fewer of the earlier sweeps reached come first, so that
short sweeps add up. At the end functions that took no call have a longer turn. A turn depends on nothing but
itself, so any worker can have it.
"""

from __future__ import annotations

import datetime
import itertools
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.adapters import catalogue as of
from gradfuzz.calls.drawing.search import PATIENCE
from gradfuzz.calls.findings.clusters import clusters
from gradfuzz.calls.libraries.library import LIBRARIES
from gradfuzz.calls.recording import by_function, read
from gradfuzz.calls.sweep.homes import home_of
from gradfuzz.calls.sweep.set_up import Had, SetUp
from gradfuzz.calls.sweep.supervise import end, supervised
from gradfuzz.calls.sweep.targets import check, functions
from gradfuzz.calls.sweep.totals import FunctionTotals, Key
from gradfuzz.calls.sweep.turn import Result, Turn, confirmed
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.script_run import has_check, unchecked
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.results.events import Event, FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.functions import NOT_REACHED
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault, attempt, own_fault
from gradfuzz.fuzzer.sweep import memo as memos
from gradfuzz.fuzzer.sweep.config import SweepConfig, rerun_command, settings_of
from gradfuzz.fuzzer.sweep.interrupts import Interrupts
from gradfuzz.fuzzer.sweep.memo import Ledger, Memo
from gradfuzz.fuzzer.sweep.run import cluster_of
from gradfuzz.fuzzer.workers.local import Threads, usual_size
from gradfuzz.fuzzer.workers.worker import Workers, kept
from gradfuzz.oracles.target_name import TargetName

CALLS, CALLS_EACH = 3, 6
"""Calls that a turn judges, and calls of each function where nobody says."""

_SHORT_PATIENCE = 1000
"""So many calls are tried in a turn until the first is valid; in the longer turn at the end `PATIENCE`."""

_CONTROL = -1
"""In place of the number of a function: the turn that tells whether a set-up is at fault."""

_HEARTBEAT = 1.0
"""Seconds between two progress events while workers are busy."""

_EARLIER = 20
"""So many of the latest sweeps in the store are looked at."""

_AHEAD = 40
"""So many turns for each that is under way may wait for an earlier one."""

_GRACE = 3.0
"""Seconds after the time limit until what is under way is given up."""

memos.KINDS[Turn] = memos.WorkKind("turn", Result)


def sweep(
    config: SweepConfig, memo: Memo | None = None, only: Collection[str] | None = None
) -> Iterator[Event]:
    """The events of a sweep of the functions of the libraries `config.targets`: see `fuzzer.sweep.run.sweep`.

    `config.max_examples` calls of each function are judged. `only` has the names of the functions to call, or
    how they end, as "linalg.det" (None: all); `UsageError` where there is no such function.
    """
    started = time.monotonic()
    check(config)
    libraries = {name: chosen(*functions(name), only) for name in config.targets}
    recorded = by_function(read(Path(config.calls))) if config.calls else {}
    return _Sweep(config, libraries, recorded, memo, started).events()


def chosen(
    version: str, functions: list[of.Function], only: Collection[str] | None
) -> tuple[str, list[of.Function]]:
    """The version, and the functions with one of these names, or one that ends so."""
    if only is None:
        return version, functions

    def is_called(one: of.Function, word: str) -> bool:
        return any(f".{name}".endswith(f".{word}") for name in one.names)

    unknown = [word for word in only if not any(is_called(one, word) for one in functions)]
    if unknown:
        raise UsageError(f"there is no function {unknown[0]!r}")
    return version, [one for one in functions if any(is_called(one, word) for word in only)]


@dataclass(slots=True, eq=False)
class _Slot:
    """A turn that was handed out."""

    key: Key
    turn: Turn
    result: Future[Result | OwnFault]
    whole: Result | None = None
    """What the turn found out, while the scripts of its findings run."""


class _Sweep:
    def __init__(
        self,
        config: SweepConfig,
        libraries: dict[str, tuple[str, list[of.Function]]],
        recorded: Mapping[str, tuple[Call, ...]],
        memo: Memo | None,
        started: float,
    ) -> None:
        self._config = config
        self._recorded = recorded
        self._libraries = libraries
        self._homes = {name: home_of(name) for name in libraries}
        self._ledger = Ledger(memo, config.shard)
        self._totals = FunctionTotals(libraries)
        self._workers = _workers_of(config)
        self._load = self._workers.load()
        self._started = started
        self._beat = started
        self._environment = environment(datetime.datetime.now(datetime.UTC))
        self._set_up = SetUp()
        self._slots: deque[_Slot] = deque()
        """In the order of the turns: results are taken in that order."""
        self._interrupts = Interrupts()
        self._cut_short = False
        self._given_up = False
        self._tried = Attempts()
        self._lost = False
        """Whether gradfuzz itself failed, so that the sweep ended early."""
        self._latest_finding = started
        self._latest = ""

    def events(self) -> Iterator[Event]:
        config = self._config
        limits = config.max_examples, config.max_time
        interrupted = False
        with self._interrupts:
            yield SweepStarted(config.seed, self._targets(), config.families, *limits, rerun_command(config))
            stream = self._work()
            ended = False
            try:
                while (event := self._interrupts.next(stream)) is not None:
                    yield event
                ended = True
            except KeyboardInterrupt:
                interrupted = True
            except Exception as error:  # noqa: BLE001 - raised again where it is told on purpose
                self._tried.keep(own_fault("going on with the sweep", error))
                self._lost = True
            finally:
                self._workers.close(at_once=not ended or self._given_up)
            yield from self._left()
            yield self._finished(interrupted)

    def _targets(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, version) for name, (version, _) in self._libraries.items())

    # Work

    def _turns(self) -> Iterator[tuple[Key, Turn]]:
        """All turns: a first one of every function, then the second ones."""
        config = self._config
        keys = [
            (name, number)
            for name, (_, functions) in self._libraries.items()
            for number, function in enumerate(functions)
            if function.outcome == of.DIFFERENTIABLE and function.names
        ]
        random.Random(config.seed).shuffle(keys)  # noqa: S311 - repeatable on purpose
        reached = self._reached()

        def rank(key: Key) -> tuple[bool, int]:  # those that a program calls come first
            function = self._libraries[key[0]][1][key[1]]
            return not self._is_recorded(function), reached[function.names[0], function.signature]

        keys.sort(key=rank)
        for number in range(self._rounds):
            calls = min(CALLS, config.max_examples - number * CALLS)
            for key in keys:
                yield key, self._turn(key, number, calls, _SHORT_PATIENCE)

    def _reached(self) -> Counter[tuple[str, str]]:
        """How many earlier sweeps reached a function, by its name and signature."""
        found: Counter[tuple[str, str]] = Counter()
        for name, (version, _) in self._libraries.items():
            for earlier in itertools.islice(self._ledger.functions(name, version), _EARLIER):
                found.update((one.name, one.signature) for one in earlier if one.outcome != NOT_REACHED)
        return found

    def _longer_turns(self) -> Iterator[tuple[Key, Turn]]:
        """One more of each function that took no call so far."""
        calls = min(CALLS, self._config.max_examples)
        for key in self._totals.without_a_valid_call():
            yield key, self._turn(key, self._rounds, calls, PATIENCE)

    @property
    def _rounds(self) -> int:
        return -(-self._config.max_examples // CALLS)

    def _turn(self, key: Key, number: int, calls: int, patience: int) -> Turn:
        name, place = key
        function = self._libraries[name][1][place]
        recorded = tuple(c for known in function.names for c in self._recorded.get(known, ()))
        library = TargetName.of(name).library
        library = library if library in LIBRARIES else function.why
        turn = Turn(library, function, self._config.seed, number, calls, recorded, home=self._homes[name])
        return replace(turn, shrink=self._config.shrink, patience=patience)

    def _is_recorded(self, function: of.Function) -> bool:
        """Whether the program that was recorded calls it."""
        return any(name in self._recorded for name in function.names)

    def _work(self) -> Iterator[Event]:
        part, parts = self._config.shard or (1, 1)
        yield self._progress(f"starting {self._load.workers} worker processes")
        yield from self._done(itertools.islice(self._turns(), part - 1, None, parts))
        self._hand_out_controls(at_end=True)
        yield from self._done(iter(()))
        yield from self._done(self._longer_turns())

    def _hand_out_controls(self, *, at_end: bool = False) -> None:
        """Hands out the turns that tell whether a set-up is at fault."""
        for name, turn in self._set_up.doubts(at_end=at_end):
            self._slots.append(_Slot((name, _CONTROL), turn, self._given(turn)))

    def _done(self, turns: Iterator[tuple[Key, Turn]]) -> Iterator[Event]:
        """The events of these turns, until the last one is taken or the time is up."""
        workers, slots = self._workers, self._slots
        exhausted = False
        while True:
            exhausted = exhausted or self._late()
            while not exhausted and self._under_way() < workers.room and len(slots) < _AHEAD * workers.room:
                given_up = self._set_up.given_up()
                item = next((one for one in turns if one[0][0] not in given_up), None)
                exhausted = item is None
                if item is not None:
                    slots.append(_Slot(*item, self._given(item[1])))
            yield from self._taken()
            self._hand_out_controls()
            if exhausted and not slots:
                return
            if self._late(_GRACE):
                self._given_up = True
                return
            wait([s.result for s in slots if not s.result.done()], _HEARTBEAT, FIRST_COMPLETED)
            yield from self._taken()
            if time.monotonic() - self._beat >= _HEARTBEAT:
                self._load = workers.load()
                yield self._progress(self._doing())

    def _under_way(self) -> int:
        return sum(not slot.result.done() for slot in self._slots)

    def _given(self, turn: Turn) -> Future[Result | OwnFault]:
        """The result of a turn, done at once where the memo has it."""
        known: Result | None = self._ledger.recall(turn)
        if known is not None:
            return kept(known)
        return self._submitted(turn, supervised, turn)

    def _submitted(self, turn: Turn, do: Callable[..., Result], *args: Any) -> Future[Result | OwnFault]:
        needs = {TargetName.of(turn.home or turn.library).system}
        return self._workers.submit(attempt, _calling(turn), do, *args, needs=needs)

    def _confirm(self) -> None:
        """Hands out the scripts of findings that are whole."""
        for slot in self._slots:
            if slot.whole is None and slot.result.done() and not slot.result.exception():
                result = slot.result.result()
                if isinstance(result, Result) and self._is_to_be_confirmed(result):
                    slot.whole, slot.result = result, self._submitted(slot.turn, confirmed, result)

    def _is_to_be_confirmed(self, result: Result) -> bool:
        """Whether the scripts of its findings are still to be run, and tell something."""
        new = (one for one in result.findings if not self._totals.is_known(one))
        return not result.confirmed and any(map(has_check, new))

    def _left(self) -> Iterator[Event]:
        """At the end of a sweep that ended early: what is done, also where a script still runs."""
        for slot in self._slots:
            done = slot.result.done() and not slot.result.cancelled() and not slot.result.exception()
            if (result := slot.result.result() if done else slot.whole) is not None:
                yield from self._entered(slot, result)

    def _taken(self) -> Iterator[Event]:
        """Takes the results of the first turns, in their order."""
        self._confirm()
        while self._slots and self._slots[0].result.done():
            slot = self._slots.popleft()
            yield from self._entered(slot, slot.result.result())

    def _entered(self, slot: _Slot, result: Result | OwnFault) -> Iterator[Event]:
        """Enters the result of a turn, and tells its findings."""
        if isinstance(result, OwnFault):
            result = Result(error=result.error, own_faults=(result,))
        if slot.key[1] == _CONTROL:
            ready = self._set_up.controlled(slot.key[0], result)
        else:
            ready = self._set_up.ready(Had(slot.key, slot.turn, result))
        for finding in self._counted(ready):
            self._latest = finding.code or ""
            self._latest_finding = time.monotonic()
            yield FindingFound(finding)

    def _counted(self, turns: Iterable[Had]) -> Iterator[Finding]:
        """Counts these turns and keeps them; their findings."""
        for one in turns:
            self._ledger.keep(one.turn, one.result)
            result = one.result
            if self._is_to_be_confirmed(result):  # the sweep ends early
                result = replace(result, findings=tuple(map(unchecked, result.findings)))
            yield from self._totals.add(one.key, result)

    def _late(self, grace: float = 0.0) -> bool:
        most = self._config.max_time
        late = most is not None and time.monotonic() - self._started >= most + grace
        self._cut_short = self._cut_short or late
        return late

    # Events

    def _doing(self) -> str:
        turns = [slot.turn for slot in self._slots if not slot.result.done()]
        return "calling " + ", ".join(turn.function.names[0] for turn in turns[: self._load.workers])

    def _progress(self, doing: str) -> Progress:
        self._beat = time.monotonic()
        totals = self._totals
        return Progress(
            self._beat - self._started,
            totals.judged,
            totals.checks,
            doing,
            self._latest,
            totals.summaries(),
            workers=self._load.workers,
            under_way=self._under_way(),
            quiet=self._beat - self._latest_finding,
            dashboard=self._load.dashboard,
        )

    def _finished(self, interrupted: bool) -> SweepFinished:
        totals, faults = self._totals, self._set_up.faults()
        for _ in self._counted(self._set_up.rest()):
            raise AssertionError("a turn with a finding is in doubt")
        findings = totals.findings()
        together = self._tried("clustering the findings", (), clusters, findings)
        return SweepFinished(
            seed=self._config.seed,
            seconds=time.monotonic() - self._started,
            programs=totals.judged,
            checks=totals.checks,
            summaries=totals.summaries(faults),
            findings=findings,
            complete=not (interrupted or self._cut_short or self._lost or faults),
            interrupted=interrupted,
            rerun=rerun_command(self._config),
            clusters=together,
            environment=self._environment,
            functions=totals.functions(),
            shard=self._ledger.shard(settings_of(self._config, self._targets())),
            own_faults=(*totals.own_faults(), *self._tried.faults),
        )


def _calling(turn: Turn) -> str:
    return f"calling {turn.function.names[0]}"


def _workers_of(config: SweepConfig) -> Workers:
    if config.cluster:
        return cluster_of(config)
    return Threads(config.jobs or usual_size(), end)

"""The plan of a sweep of libraries' functions: turns.

Every function has a turn of one call, in an order that the seed decides; then every function has its next
turn, of more calls, until each had its calls or the time is up. Functions that fewer of the earlier sweeps
reached come first, so that short sweeps add up. At the end functions that took no call have a longer turn.

A turn depends on nothing but itself, so any worker can have it. One that takes too long is given up and put
off: it is had again, from its beginning, after those of the other functions, and at last as long as it takes.
So time decides when something is found out, and never what, unless the sweep is cut short.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.adapters import catalogue as of
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling.drawing.search import PATIENCE
from gradfuzz.fuzzer.calling.recording import by_function, read, with_recorded
from gradfuzz.fuzzer.findings.calls.clusters import clusters
from gradfuzz.fuzzer.findings.script_run import has_check, unchecked
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.events import Event, FindingFound, TargetSummary
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.functions import NOT_REACHED
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.sweep import memo as memos
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.sweep.function_targets import check, dtypes_of, functions, modes_of
from gradfuzz.fuzzer.sweep.programs import cluster_of
from gradfuzz.fuzzer.sweep.run import Crew, PlanOutcome, Sweep
from gradfuzz.fuzzer.turns.homes import home_of
from gradfuzz.fuzzer.turns.set_up import Had, SetUp
from gradfuzz.fuzzer.turns.supervisor import end, supervised
from gradfuzz.fuzzer.turns.totals import FunctionTotals, Key
from gradfuzz.fuzzer.turns.turn import Result, Turn, confirmed
from gradfuzz.fuzzer.workers.local import Threads, usual_size
from gradfuzz.fuzzer.workers.worker import Workers, kept
from gradfuzz.libraries.library import CALLED
from gradfuzz.oracles.target_name import TargetName

_CALLS = (1, 2, 3)
"""Calls that the turns of a function judge, one after the other; each further one as many as the last."""

_SOON, _LATER = 20.0, 120.0
"""Seconds that a turn may take, and those that one may take which was put off."""

_SHORT_PATIENCE = 1000
"""So many calls are tried in a turn until the first is valid; in the longer turn at the end `PATIENCE`."""

_CONTROL = -1
"""In place of the number of a function: the turn that tells whether a set-up is at fault."""

_EARLIER = 20
"""So many of the latest sweeps in the store are looked at."""

_AHEAD = 40
"""So many turns for each that is under way may wait for an earlier one."""

memos.KINDS[Turn] = memos.WorkKind("turn", Result)


def planned(whole: Sweep, config: SweepConfig, only: Collection[str] | None = None) -> Functions:
    """The plan of a sweep, about the functions of libraries, with these settings. `only`: see `sweep`."""
    check(config)
    recorded = by_function(read(Path(config.calls))) if config.calls else {}
    libraries = {}
    for name in config.targets:
        version, rows = functions(name)
        rows = rows if TargetName.of(name).library in CALLED else with_recorded(name, rows, recorded)
        libraries[name] = chosen(version, rows, only)
    return Functions(whole, config, libraries, recorded, is_choice=only is not None)


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
    result: Future[Result | OwnFault | None]
    seconds: float = math.inf
    """How long it may take."""
    whole: Result | None = None
    """What the turn found out, while the scripts of its findings run."""


class Functions:
    """The plan: see `fuzzer.sweep.run.SweepPlan`."""

    def __init__(
        self,
        whole: Sweep,
        config: SweepConfig,
        libraries: dict[str, tuple[str, list[of.Function]]],
        recorded: Mapping[str, tuple[Call, ...]],
        *,
        is_choice: bool = False,
    ) -> None:
        """`is_choice`: whether the functions are those that somebody chose, of which each is told."""
        self._sweep = whole
        self._config = config
        self._recorded = recorded
        self._is_choice = is_choice
        self._libraries = libraries
        self._homes = {name: home_of(name) for name in libraries}
        self._ledger = whole.ledger
        self._totals = FunctionTotals(libraries)
        self._modes, self._dtypes = modes_of(config), dtypes_of(config)
        self.crew = Crew(_workers_of(config), whole.woken)
        self.targets = tuple((name, version) for name, (version, _) in libraries.items())
        self._set_up = SetUp()
        self._slots: deque[_Slot] = deque()
        """In the order of the turns: results are taken in that order."""
        self._late: dict[float, list[tuple[Key, Turn]]] = {_SOON: [], _LATER: []}
        """Turns that are put off, by the seconds that were not enough."""
        self._slow: dict[Key, float] = {}
        """The same of functions: their next turns are put off at once."""
        self._longer: set[Key] = set()
        """The functions that had a longer turn."""

    # Work

    def _rounds(self) -> Iterator[Iterator[tuple[Key, Turn]]]:
        """The turns of this part of the sweep, by rounds: a first one of every function, then the second
        ones. What is slow is put off.
        """
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
        keys.sort(key=self._earlier_of_class(keys).__getitem__)
        part, parts = config.shard or (1, 1)
        for number, (before, calls) in enumerate(self._portions):
            own = (key for k, key in enumerate(keys) if (number * len(keys) + k) % parts == part - 1)
            yield self._round(own, number, calls, before)

    def _round(self, keys: Iterable[Key], number: int, calls: int, before: int) -> Iterator[tuple[Key, Turn]]:
        for key in keys:
            item = key, self._turn(key, number, calls, _SHORT_PATIENCE, before)
            if key in self._slow:
                self._late[self._slow[key]].append(item)
            else:
                yield item

    def _earlier_of_class(self, keys: Iterable[Key]) -> dict[Key, int]:
        """How many methods of its class come before a method of a package; 0 of what is none. So every class
        is asked before any is asked twice.
        """
        found, counts = {}, Counter[str]()
        for key in keys:
            owner = self._libraries[key[0]][1][key[1]].names[0].rpartition(".")[0]
            is_method = TargetName.of(key[0]).library not in CALLED and is_class(owner)
            found[key] = counts[owner] if is_method else 0
            counts[owner] += 1
        return found

    def _reached(self) -> Counter[tuple[str, str]]:
        """How many earlier sweeps reached a function, by its name and signature."""
        found: Counter[tuple[str, str]] = Counter()
        for name, (version, _) in self._libraries.items():
            for earlier in itertools.islice(self._ledger.functions(name, version), _EARLIER):
                found.update((one.name, one.signature) for one in earlier if one.outcome != NOT_REACHED)
        return found

    def _longer_turns(self) -> Iterator[tuple[Key, Turn]]:
        """One more of each function that took no call so far."""
        calls = min(_CALLS[-1], self._config.max_examples)
        waiting = {key for late in self._late.values() for key, _ in late}
        for key in self._totals.without_a_valid_call():
            if key not in self._longer | waiting:
                self._longer.add(key)
                yield key, self._turn(key, len(self._portions), calls, PATIENCE)

    def _put_off(self, seconds: float) -> Iterator[tuple[Key, Turn]]:
        """The turns for which so many seconds were not enough."""
        late, self._late[seconds] = self._late[seconds], []
        return iter(late)

    @property
    def _portions(self) -> list[tuple[int, int]]:
        """Of each round the calls of a function that were judged before, and those that it judges."""
        found: list[tuple[int, int]] = []
        before = 0
        while before < self._config.max_examples:
            calls = min(_CALLS[min(len(found), len(_CALLS) - 1)], self._config.max_examples - before)
            found.append((before, calls))
            before += calls
        return found

    def _turn(self, key: Key, number: int, calls: int, patience: int, before: int | None = None) -> Turn:
        name, place = key
        function = self._libraries[name][1][place]
        recorded = tuple(c for known in function.names for c in self._recorded.get(known, ()))
        library = TargetName.of(name).library
        library = library if library in CALLED else function.why
        turn = Turn(library, function, self._config.seed, number, calls, recorded, home=self._homes[name])
        turn = replace(turn, modes=self._modes, dtypes=self._dtypes)
        before = len(recorded) if before is None else before
        return replace(turn, shrink=self._config.shrink, patience=patience, before=before)

    def _is_recorded(self, function: of.Function) -> bool:
        """Whether the program that was recorded calls it."""
        return any(name in self._recorded for name in function.names)

    def work(self) -> Iterator[Event | None]:
        """All turns, round by round, and after each round what was put off; then the longer ones."""
        yield self._sweep.progress(f"starting {self.crew.load.workers} worker processes")
        for turns in self._rounds():
            yield from self._done(turns, _SOON)
            yield from self._done(self._put_off(_SOON), _LATER)
        self._hand_out_controls(at_end=True)
        yield from self._done(iter(()))
        yield from self._done(self._longer_turns(), _LATER)
        yield from self._done(self._put_off(_LATER))
        yield from self._done(self._longer_turns())

    def _hand_out_controls(self, *, at_end: bool = False) -> None:
        """Hands out the turns that tell whether a set-up is at fault."""
        for name, turn in self._set_up.doubts(at_end=at_end):
            self._slots.append(_Slot((name, _CONTROL), turn, self._given(turn)))

    def _done(self, turns: Iterator[tuple[Key, Turn]], seconds: float = math.inf) -> Iterator[Event | None]:
        """The events of these turns, until the last one is taken or the time is up. One that takes more than
        so many `seconds` is put off.
        """
        crew, slots = self.crew, self._slots
        exhausted = False
        while True:
            exhausted = exhausted or self._sweep.late()
            room = crew.workers.room
            while not exhausted and crew.under_way < room and len(slots) < _AHEAD * room:
                given_up = self._set_up.given_up()
                item = next((one for one in turns if one[0][0] not in given_up), None)
                exhausted = item is None
                if item is not None:
                    slots.append(_Slot(*item, self._given(item[1], seconds), seconds))
            before = len(slots)
            yield from self._taken()
            self._hand_out_controls()
            if exhausted and not slots:
                return
            if before == len(slots):
                yield None

    def _given(self, turn: Turn, seconds: float = math.inf) -> Future[Result | OwnFault | None]:
        """The result of a turn, done at once where the memo has it; None where it is late."""
        known: Result | None = self._ledger.recall(turn)
        if known is not None:
            return kept(known)
        return self._submitted(turn, supervised, turn, seconds)

    def _submitted(
        self, turn: Turn, do: Callable[..., Result | None], *args: Any
    ) -> Future[Result | OwnFault | None]:
        needs = {TargetName.of(turn.home or turn.library).system}
        return self.crew.give(f"calling {turn.function.names[0]}", do, *args, needs=needs)

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

    def left(self) -> Iterator[Event]:
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
            result = slot.result.result()
            if result is None:
                self._late[slot.seconds].append((slot.key, slot.turn))
                self._slow[slot.key] = slot.seconds
            else:
                yield from self._entered(slot, result)

    def _entered(self, slot: _Slot, result: Result | OwnFault) -> Iterator[Event]:
        """Enters the result of a turn, and tells its findings."""
        if isinstance(result, OwnFault):
            result = Result(error=result.error, own_faults=(result,))
        if slot.key[1] == _CONTROL:
            ready = self._set_up.controlled(slot.key[0], result)
        else:
            ready = self._set_up.ready(Had(slot.key, slot.turn, result))
        for finding in self._counted(ready):
            self._sweep.found(finding.code or "")
            yield FindingFound(finding)

    def _counted(self, turns: Iterable[Had]) -> Iterator[Finding]:
        """Counts these turns and keeps them; their findings."""
        for one in turns:
            self._ledger.keep(one.turn, one.result)
            result = one.result
            if self._is_to_be_confirmed(result):  # the sweep ends early
                result = replace(result, findings=tuple(map(unchecked, result.findings)))
            yield from self._totals.add(one.key, result)

    def doing(self) -> str:
        turns = [slot.turn for slot in self._slots if not slot.result.done()]
        names = [turn.function.names[0] for turn in turns[: self.crew.load.workers]]
        return f"judging calls of {', '.join(names)}" if names else ""

    def counts(self) -> tuple[int, int, tuple[TargetSummary, ...]]:
        return self._totals.judged, self._totals.checks, self._totals.summaries()

    def outcome(self) -> PlanOutcome:
        totals, faults = self._totals, self._set_up.faults()
        is_whole = self._config.shard is None and not self._is_choice
        for _ in self._counted(self._set_up.rest()):
            raise AssertionError("a turn with a finding is in doubt")
        findings = totals.findings()
        return PlanOutcome(
            findings,
            totals.summaries({**(totals.unasked() if is_whole else {}), **faults}),
            self._sweep.tried("clustering the findings", (), clusters, findings),
            complete=not faults,
            functions=totals.functions(),
            own_faults=totals.own_faults(),
        )


def is_class(name: str) -> bool:
    """Whether a dotted name is that of a class, as people write them."""
    return name.rpartition(".")[2].lstrip("_")[:1].isupper()


def _workers_of(config: SweepConfig) -> Workers:
    if config.cluster:
        return cluster_of(config)
    return Threads(config.jobs or usual_size(), end)

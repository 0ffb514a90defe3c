"""The sweep of a library's functions: the same settings, events and store as a sweep of programs.

Every function has a turn, in an order that the seed decides; then every function has its next turn, until
each had its calls or the time is up. A turn depends on nothing but itself, so any worker can have it.
"""

from __future__ import annotations

import datetime
import random
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gradfuzz.adapters import catalogue as of
from gradfuzz.calls.findings.clusters import clusters
from gradfuzz.calls.findings.prove import named
from gradfuzz.calls.libraries.library import LIBRARIES
from gradfuzz.calls.recording import by_function, read
from gradfuzz.calls.sweep.homes import home_of
from gradfuzz.calls.sweep.targets import check, functions
from gradfuzz.calls.sweep.totals import Key, Totals
from gradfuzz.calls.sweep.turn import Result, Turn, merged
from gradfuzz.calls.sweep.workers import Died, Done, Workers
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.results.events import Event, FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.sweep import memo as memos
from gradfuzz.fuzzer.sweep.memo import Memo
from gradfuzz.fuzzer.sweep.run import Interrupts, SweepConfig, rerun_command
from gradfuzz.fuzzer.sweep.workers import usual_size
from gradfuzz.oracles.target_name import TargetName

CALLS, CALLS_EACH = 3, 6
"""Calls that a turn judges, and calls of each function where nobody says."""

_HEARTBEAT = 1.0
"""Seconds between two progress events while workers are busy."""

_GRACE = 3.0
"""Seconds after the time limit until what is under way is given up."""

memos.KINDS[Turn] = memos.Kind("turn", Result)


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


_AGAIN = 1
"""So often a turn begins again after its process died."""


@dataclass(slots=True, eq=False)
class _Slot:
    """A turn that was handed out, with what it led to."""

    key: Key
    turn: Turn
    parts: list[Result] = field(default_factory=list)
    open: int = 1
    """Pieces of work whose results are awaited."""
    result: Result | None = None


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
        self._memo = memo
        self._totals = Totals(libraries)
        self._workers = Workers(config.jobs or usual_size())
        self._started = started
        self._beat = started
        self._environment = environment(datetime.datetime.now(datetime.UTC))
        self._slots: deque[_Slot] = deque()
        """In the order of the turns: results are taken in that order."""
        self._owner: dict[int, _Slot] = {}
        """The slot of a piece of work, by the identity of its turn."""
        self._more: deque[Turn] = deque()
        """Work that followed from other work."""
        self._interrupts = Interrupts()
        self._cut_short = False
        self._latest = ""

    def events(self) -> Iterator[Event]:
        config = self._config
        targets = tuple((name, version) for name, (version, _) in self._libraries.items())
        limits = config.max_examples, config.max_time
        interrupted = False
        with self._interrupts:
            yield SweepStarted(config.seed, targets, config.families, *limits, rerun_command(config))
            stream = self._work()
            try:
                while (event := self._interrupts.next(stream)) is not None:
                    yield event
            except KeyboardInterrupt:
                interrupted = True
            finally:
                self._workers.close()
            yield self._finished(interrupted)

    # Work

    def _turns(self) -> Iterator[tuple[Key, Turn]]:
        """All turns: a first one of every function, then the second ones."""
        config = self._config
        keys = [  # those that a program calls come first
            (name, number)
            for name, (_, functions) in self._libraries.items()
            for number, function in enumerate(functions)
            if function.outcome == of.DIFFERENTIABLE and function.names
        ]
        random.Random(config.seed).shuffle(keys)  # noqa: S311 - repeatable on purpose
        keys.sort(key=lambda key: not self._is_recorded(self._libraries[key[0]][1][key[1]]))
        for number in range(-(-config.max_examples // CALLS)):
            calls = min(CALLS, config.max_examples - number * CALLS)
            for name, place in keys:
                function = self._libraries[name][1][place]
                recorded = tuple(c for known in function.names for c in self._recorded.get(known, ()))
                library = TargetName.of(name).library
                library = library if library in LIBRARIES else function.why
                turn = Turn(library, function, config.seed, number, calls, recorded, home=self._homes[name])
                yield (name, place), replace(turn, shrink=config.shrink)

    def _is_recorded(self, function: of.Function) -> bool:
        """Whether the program that was recorded calls it."""
        return any(name in self._recorded for name in function.names)

    def _work(self) -> Iterator[Event]:
        turns = self._turns()
        workers = self._workers
        exhausted = False
        yield self._progress(f"starting {workers.size} worker processes")
        while True:
            if self._late():
                exhausted = True
                self._more.clear()
            while workers.has_room() and (self._more or not exhausted):
                if self._more:
                    workers.give(self._more.popleft())
                    continue
                item = next(turns, None)
                if item is None:
                    exhausted = True
                    break
                self._begin(_Slot(*item))
            yield from self._taken()
            if not workers.turns and not self._more:
                if exhausted:
                    return
                continue
            if self._late(_GRACE):
                return
            for one in workers.taken(_HEARTBEAT):
                self._heard(one)
            yield from self._taken()
            if time.monotonic() - self._beat >= _HEARTBEAT:
                yield self._progress(self._doing())

    def _begin(self, slot: _Slot) -> None:
        """Hands out a turn, unless the memo has its result."""
        self._slots.append(slot)
        known = self._memo.recall(slot.turn) if self._memo is not None else None
        if known is not None:
            slot.result, slot.open = known, 0
            return
        self._owner[id(slot.turn)] = slot
        self._workers.give(slot.turn)

    def _heard(self, one: Done | Died) -> None:
        """Takes a result, or what became of a process; a turn begins again where its process died."""
        slot = self._owner.pop(id(one.turn))
        slot.open -= 1
        if isinstance(one, Done):
            assert isinstance(one.result, Result), "no turn of a sweep asks about a finding"
            slot.parts.append(one.result)
        elif one.turn.only is not None:
            if one.draft is not None:
                finding = replace(one.draft, note=f"the process ends: {one.words}")
                slot.parts.append(Result(findings=(named(finding),)))
        else:
            if one.call is not None:
                self._follow(slot, replace(one.turn, only=one.call))
            if one.turn.again < _AGAIN:
                self._follow(slot, replace(one.turn, again=one.turn.again + 1))
            else:
                slot.parts.append(
                    Result(words=f"its process died in each of {_AGAIN + 1} turns: {one.words}")
                )
        if not slot.open:
            slot.result = merged(slot.parts)
            if self._memo is not None:
                self._memo.keep(slot.turn, slot.result)

    def _follow(self, slot: _Slot, turn: Turn) -> None:
        slot.open += 1
        self._owner[id(turn)] = slot
        self._more.append(turn)

    def _taken(self) -> Iterator[Event]:
        """Takes the results of the first turns, in their order."""
        while self._slots and self._slots[0].result is not None:
            slot = self._slots.popleft()
            assert slot.result is not None, "just asked"
            for finding in self._totals.add(slot.key, slot.result):
                self._latest = finding.code or ""
                yield FindingFound(finding)

    def _late(self, grace: float = 0.0) -> bool:
        most = self._config.max_time
        late = most is not None and time.monotonic() - self._started >= most + grace
        self._cut_short = self._cut_short or late
        return late

    # Events

    def _doing(self) -> str:
        return "calling " + ", ".join(turn.function.names[0] for turn in self._workers.turns)

    def _progress(self, doing: str) -> Progress:
        self._beat = time.monotonic()
        totals = self._totals
        counts = self._beat - self._started, totals.judged, totals.checks
        return Progress(*counts, doing, self._latest, totals.summaries())

    def _finished(self, interrupted: bool) -> SweepFinished:
        totals = self._totals
        return SweepFinished(
            seed=self._config.seed,
            seconds=time.monotonic() - self._started,
            programs=totals.judged,
            checks=totals.checks,
            summaries=totals.summaries(),
            findings=totals.findings(),
            complete=not (interrupted or self._cut_short),
            interrupted=interrupted,
            rerun=rerun_command(self._config),
            clusters=clusters(totals.findings()),
            environment=self._environment,
            functions=totals.functions(),
        )

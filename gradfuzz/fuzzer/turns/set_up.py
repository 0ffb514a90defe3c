"""Which targets answer no call: that is an error of the set-up, and no bug of a library.

A flag that a library does not know, a missing library, an import that fails or a package of another version
ends a worker process, or makes it raise, whatever is called. So what turns found out waits until the target
has given its first answer. Where there is a doubt, a call of `sin` in the same kind of process has to come
out. A target that answers neither this nor one of `_ENOUGH` turns is at fault as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.fuzzer.results.finding import ANSWERS
from gradfuzz.fuzzer.turns import homes
from gradfuzz.fuzzer.turns.totals import Key
from gradfuzz.fuzzer.turns.turn import AGAIN, Result, Turn
from gradfuzz.oracles.foreign import fault

_ENOUGH = 4
"""Turns without an answer after which no more are made, where the call of `sin` gives none either."""

_SIN = {"jax": "jax.numpy.sin", "autograd": "autograd.numpy.sin", "mlx": "mlx.core.sin"}
"""Its name where it is not that of the library with `.sin`."""

_X = Parameter("x", (ARRAY,), required=True)


def control(turn: Turn) -> Turn:
    """The turn of `sin` where `turn` is had: in the same library, and the same kind of process."""
    name = _SIN.get(turn.library, f"{turn.library}.sin")
    sin = Function((name,), "sin(x)", DIFFERENTIABLE, "", (_X,))
    return Turn(turn.library, sin, seed=0, number=0, calls=1, again=AGAIN, home=turn.home, shrink=False)


def answers(result: Result) -> bool:
    """Whether a turn got an answer."""
    return any(result.verdicts.get(verdict.value) for verdict in ANSWERS)


def said(result: Result) -> str:
    """What came of a turn without an answer."""
    return result.ended or result.error or result.words or "no call that was drawn is valid"


def told(turn: Turn, words: str) -> str:
    """The fault of the set-up in which `turn` was had."""
    return fault.told(words, homes.command(turn.library, turn.home), turn.library, turn.home)


@dataclass(frozen=True, slots=True, eq=False)
class Had:
    """A turn that was had."""

    key: Key
    turn: Turn
    result: Result


class SetUp:
    """The targets of a sweep that have not answered yet, and the turns that they had."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._waiting: dict[str, list[Had]] = {}
        self._controls: dict[str, Result | None] = {}
        """What came of the turns of `sin`; None where one was handed out."""

    def ready(self, had: Had) -> list[Had]:
        """The turns that count, of this one and those before it, in their order."""
        name = had.key[0]
        if name in self._answered:
            return [had]
        self._waiting.setdefault(name, []).append(had)
        return self._released(name) if answers(had.result) else []

    def controlled(self, name: str, result: Result) -> list[Had]:
        """The same after the turn of `sin`."""
        self._controls[name] = result
        return self._released(name) if answers(result) else []

    def doubts(self, *, at_end: bool = False) -> Iterator[tuple[str, Turn]]:
        """The targets about which there is a doubt now, each once, and their turns of `sin`."""
        for name, turns in self._waiting.items():
            if name not in self._controls and (
                at_end or len(turns) >= _ENOUGH or any(map(_is_doubtful, turns))
            ):
                self._controls[name] = None
                yield name, control(turns[0].turn)

    def given_up(self) -> frozenset[str]:
        """The targets of which no more turns are made."""
        failed = {name for name, result in self._controls.items() if result is not None}
        return frozenset(name for name in failed if len(self._waiting.get(name, ())) >= _ENOUGH)

    def rest(self) -> list[Had]:
        """At the end of a sweep: the turns of targets that were not asked enough to be in doubt."""
        faults = self.faults()
        return [one for name in list(self._waiting) if name not in faults for one in self._released(name)]

    def faults(self) -> dict[str, str]:
        """At the end of a sweep: the faults of set-ups, by target."""
        found = {}
        for name, turns in self._waiting.items():
            doubtful = next((one.result for one in turns if _is_doubtful(one)), None)
            if (failed := self._controls.get(name) or doubtful) is not None:
                found[name] = told(turns[0].turn, said(failed))
        return found

    def _released(self, name: str) -> list[Had]:
        self._answered.add(name)
        return self._waiting.pop(name, [])


def _is_doubtful(had: Had) -> bool:
    """Whether a set-up may be at fault for what came of a turn."""
    return bool(had.result.ended or had.result.error or had.result.findings)

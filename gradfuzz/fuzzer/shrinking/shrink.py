"""Shrinking: the smallest candidate that is still interesting.

Greedy and deterministic: the reductions are tried in turn, and the first candidate that is smaller by `cost`
and still interesting is taken. Where none is left, the candidate is minimal. The caller defines
"interesting"; the fuzzer's definition is "disagrees clearly, in the same class", so that shrinking does not
slide into rounding noise or into another bug.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.shrinking.point_reductions import varying_inputs
from gradfuzz.fuzzer.shrinking.reductions import REDUCTIONS, Reduction, canonical_names, plainness
from gradfuzz.fuzzer.shrinking.variations import variations
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.syntax import (
    ArrayConst,
    Call,
    Const,
    For,
    If,
    Name,
    ParamValue,
    Program,
    Repeat,
    Return,
    While,
    walk,
)
from gradfuzz.programs.language.typecheck import typecheck


class Interest(enum.IntEnum):
    """Whether a candidate is interesting; `NEARLY` where other numbers might make it so."""

    NO = 0
    YES = 1
    NEARLY = 2


Interesting = Callable[[Sequence[Candidate]], Sequence[Interest] | Sequence[bool]]
"""Which of several candidates are interesting. It gets several at once where one by one is slow."""


@dataclass(frozen=True, slots=True, eq=False)
class Shrunk:
    """The result of shrinking."""

    candidate: Candidate
    asked: int
    """How many candidates were tried."""
    complete: bool
    """Whether nothing smaller is interesting; False where the budget ran out first."""


def shrink(candidate: Candidate, interesting: Interesting, *, budget: int = 1000, batch: int = 1) -> Shrunk:
    """The smallest candidate that can be reached from an interesting one.

    At most `budget` candidates are tried, `batch` at a time. The result does not depend on `batch` unless the
    budget runs out.
    """
    driver = _Driver(interesting, budget, batch)
    current = driver.fixpoint(candidate)
    for elsewhere in _elsewhere(current):
        if not driver.spent and driver.ask([elsewhere])[0] == Interest.YES:
            other = driver.fixpoint(elsewhere)
            current = min(current, other, key=cost)
    renamed = canonical_names(current)
    if _well_typed(renamed.program) and driver.ask([renamed])[0] == Interest.YES:
        current = renamed
    return Shrunk(current, driver.asked, not driver.spent)


class _Driver:
    """Tries candidates, each once, until the budget is spent."""

    def __init__(self, interesting: Interesting, budget: int, batch: int) -> None:
        self._interesting = interesting
        self._budget = budget
        self._batch = batch
        self._boring: set[tuple[object, ...]] = set()
        self.asked = 0

    @property
    def spent(self) -> bool:
        return self.asked >= self._budget

    def fixpoint(self, candidate: Candidate) -> Candidate:
        """The candidate at which no reduction makes progress."""
        current = candidate
        complete = False
        while not complete and not self.spent:
            complete = True
            for reduction in REDUCTIONS:
                place = 0
                while place >= 0:
                    smaller, place = self.first(current, reduction, place)
                    if smaller is not None:
                        current, complete = smaller, False
        return current

    def ask(self, candidates: Sequence[Candidate]) -> list[int]:
        self.asked += len(candidates)
        return list(self._interesting(candidates))

    def first(self, current: Candidate, reduction: Reduction, place: int) -> tuple[Candidate | None, int]:
        """The first smaller and interesting candidate of a reduction from `place` on, and the next place.

        Places before the last success have just failed; they are not tried again before the next round.
        """
        candidates = self._smaller(current, reduction, place)
        while not self.spent:
            chunk = list(itertools.islice(candidates, self._batch))
            if not chunk:
                break
            verdicts = self.ask([candidate for candidate, _ in chunk])
            for (candidate, at), holds in zip(chunk, verdicts, strict=True):
                if holds == Interest.YES:
                    return candidate, at
                self._boring.add(candidate.key)
                if holds == Interest.NEARLY and candidate.program != current.program:
                    varied = self._varied(candidate, cost(current))
                    if varied is not None:
                        return varied, at
        return None, -1

    def _varied(self, candidate: Candidate, limit: tuple[object, ...]) -> Candidate | None:
        """The first interesting candidate that differs from `candidate` in numbers only."""
        others = (v for v in variations(candidate) if cost(v) < limit and v.key not in self._boring)
        while not self.spent:
            chunk = list(itertools.islice(others, self._batch))
            if not chunk:
                break
            for other, holds in zip(chunk, self.ask(chunk), strict=True):
                if holds == Interest.YES:
                    return other
                self._boring.add(other.key)
        return None

    def _smaller(
        self, current: Candidate, reduction: Reduction, place: int
    ) -> Iterator[tuple[Candidate, int]]:
        """The well-formed candidates that cost less than `current` and are untried, with their places."""
        limit = cost(current)
        for at, draft in enumerate(reduction(current)):
            if at < place:
                continue
            candidate = _whole(current, draft)
            if candidate is None or not cost(candidate) < limit or candidate.key in self._boring:
                continue
            yield candidate, at


_ELSEWHERE = (0.1, 0.01)
"""A bug that needs a large program at 0.5 may need only a small one near zero."""

_LARGE = 5
"""From this many operations on, the bug may show in a smaller program in the derivative by another input."""


def _elsewhere(candidate: Candidate) -> Iterator[Candidate]:
    """A large program with all inputs differentiated; a program that is not minimal at other inputs."""
    if operations(candidate.program) < 2:
        return
    floats = [p.name for p in candidate.program.params if p.type.is_float]
    if operations(candidate.program) >= _LARGE and len(candidate.wrt) < len(floats):
        directions = {name: np.ones(candidate.inputs[name].shape) for name in floats}
        yield replace(candidate, wrt=tuple(floats), directions={**directions, **candidate.directions})
    for value in _ELSEWHERE:
        inputs = {
            name: np.full_like(v, value) if name in floats else v for name, v in candidate.inputs.items()
        }
        yield replace(candidate, inputs=inputs)


def _whole(current: Candidate, draft: Candidate | Program) -> Candidate | None:
    """A candidate that type-checks and has real outputs, with inputs and weights that fit it, or None."""
    program = draft if isinstance(draft, Program) else draft.program
    try:
        typed = typecheck(program)
    except ProgramError:
        return None
    if any(t.is_complex for t in typed.outputs):
        return None
    candidate = (draft if isinstance(draft, Candidate) else current).fitted(program, typed)
    if not candidate.wrt or all(w is None for w in candidate.weights):
        return None
    return candidate


def _well_typed(program: Program) -> bool:
    try:
        typecheck(program)
    except ProgramError:
        return False
    return True


# Cost -------------------------------------------------------------------------------------------------------

_FORMS = {For: 0, While: 1, Repeat: 2}
_OPS = {"multiply": 0, "sin": 0, "add": 1, "subtract": 2}
_CONSTANTS = (1.0, 2.0, 0.5, 3.0, -1.0, 0.0)


def operations(program: Program) -> int:
    """The number of operations in a program's text."""
    return sum(isinstance(node, Call) for node in walk(program))


def cost(candidate: Candidate) -> tuple[object, ...]:
    """What shrinking lowers, by importance: loops, branches, operations, statements, names, numbers."""
    program = candidate.program
    nodes = list(walk(program))
    loops = [n for n in nodes if isinstance(n, (For, While, Repeat))]
    calls = [n for n in nodes if isinstance(n, Call)]
    names = [n for n in nodes if isinstance(n, Name)]
    consts = [n for n in nodes if isinstance(n, Const)] + [
        c for n in nodes if isinstance(n, ArrayConst) for c in n.values
    ]
    floats = [c.value for c in consts if isinstance(c.value, float)]
    ints = [abs(c.value) for c in consts if isinstance(c.value, int)]
    entries = [float(v) for p in program.params for v in candidate.inputs[p.name].ravel().tolist()]
    companions = [
        float(v) for other in candidate.others for p in program.params for v in other[p.name].ravel().tolist()
    ]
    weights = [w for w in (*candidate.weights, *candidate.directions.values()) if w is not None]
    return (
        len(loops) + sum(isinstance(n, If) for n in nodes),
        sum(_FORMS[type(loop)] for loop in loops),
        len(calls),
        sum(len(n.values) for n in nodes if isinstance(n, Return)),
        len(nodes) - len(calls),
        len(candidate.others),
        len(program.params) + len(candidate.wrt),
        len({n.id for n in names}),
        sum(len(p.type.shape) for p in program.params),
        sum(np.size(candidate.inputs[p.name]) for p in program.params),
        sum(sum(p.type.sizes) for p in program.params),
        len(names),
        sum(_OPS.get(c.op, 3) for c in calls),
        sum(_plain_parameters(c) for c in calls),
        sum(ints),
        sum(_plain(v, _CONSTANTS) for v in floats),
        sum(_plain(v) for v in entries),
        (len(varying_inputs(candidate)), sum(_plain(v) for v in companions), candidate.place),
        sum(int(np.count_nonzero(w != 1.0)) for w in weights),
        _texts(names),
    )


def _plain_parameters(call: Call) -> int:
    """How far an op's axes and windows are from their defaults, and how large they are."""
    defaults = dict(OPS[call.op].params)
    return sum(
        100 * (value != defaults[name]) + _sum(value)
        for name, value in call.params
        if name in _PLAIN_PARAMETERS
    )


_PLAIN_PARAMETERS = ("axis", "keepdims", "window", "strides", "padding")


def _sum(value: ParamValue) -> int:
    if isinstance(value, tuple):
        return sum(map(_sum, value))
    return abs(value) if isinstance(value, int) else 0


def _plain(value: float, plain: tuple[float, ...] | None = None) -> int:
    far, place = plainness(value) if plain is None else plainness(value, plain)
    return 100 * far + place


def _texts(names: Sequence[Name]) -> tuple[str, ...]:
    return tuple(n.id for n in names)

"""Shrinking: the smallest candidate that is still interesting.

Greedy and deterministic: the reductions are tried in turn, and the first candidate that is smaller by `cost`
and still interesting is taken. Where none is left, the candidate is minimal. The caller defines
"interesting"; the fuzzer's definition is "disagrees clearly, in the same class", so that shrinking does not
slide into rounding noise or into another bug.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.fuzzer.questions.candidate import Candidate, Draft
from gradfuzz.fuzzer.questions.loop_forms import Loop
from gradfuzz.fuzzer.shrinking.point_reductions import varying_inputs
from gradfuzz.fuzzer.shrinking.reductions import PLAIN_CONSTANTS, REDUCTIONS, canonical_names, plainness
from gradfuzz.fuzzer.shrinking.variations import variations
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import (
    ArrayConst,
    Call,
    Const,
    For,
    If,
    Name,
    ParamValue,
    Repeat,
    Return,
    While,
)
from gradfuzz.programs.language.typecheck import typecheck


class Interest(enum.IntEnum):
    """Whether a candidate is interesting; `NEARLY` where other numbers might make it so."""

    NO = 0
    YES = 1
    NEARLY = 2


Interesting = Callable[[Sequence[Candidate]], Sequence[Interest] | Sequence[bool]]
"""Which of several candidates are interesting. It gets several at once where one by one is slow."""


Placed = tuple[Candidate, int]
"""A candidate with its place among those of its reduction."""


@dataclass(frozen=True, slots=True, eq=False)
class Shrunk:
    """The result of shrinking."""

    candidate: Candidate
    asked: int
    """How many candidates were tried."""
    complete: bool
    """Whether nothing smaller is interesting; False where the budget ran out first."""


def shrink(
    candidate: Candidate, interesting: Interesting, *, budget: int = 1000, batch: int = 1, ahead: int = 1
) -> Shrunk:
    """The smallest candidate that can be reached from an interesting one.

    At most `budget` candidates are tried, `batch` at a time. With `ahead` so many are asked about together:
    those to be tried, and those whose turn comes next if none of them is interesting. The result does not
    depend on `batch` unless the budget runs out, and never on `ahead`.
    """
    driver = _Driver(interesting, budget, batch, ahead)
    current = driver.fixpoint(candidate)
    places = list(_elsewhere(current))
    for elsewhere in places:
        if not driver.spent and driver.ask([elsewhere], places)[0] == Interest.YES:
            other = driver.fixpoint(elsewhere)
            current = min(current, other, key=cost)
    renamed = _whole(current, canonical_names(current))
    if renamed is not None and driver.ask([renamed])[0] == Interest.YES:
        current = renamed
    return Shrunk(current, driver.asked, not driver.spent)


_WIDTH = 8
"""So many programs are asked about together at first and after a success; else twice as many as before."""


class _Driver:
    """Tries candidates, each once, until the budget is spent."""

    def __init__(self, interesting: Interesting, budget: int, batch: int, ahead: int) -> None:
        self._interesting = interesting
        self._budget = budget
        self._batch = batch
        self._ahead = ahead
        self._boring: set[tuple[object, ...]] = set()
        self._known: dict[tuple[object, ...], int] = {}
        """What was asked ahead: candidates that are perhaps never tried."""
        self._width = min(ahead, _WIDTH)
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
            for number in range(len(REDUCTIONS)):
                place = 0
                while place >= 0:
                    smaller, place = self.first(current, number, place)
                    if smaller is not None:
                        current, complete = smaller, False
        return current

    def ask(self, candidates: Sequence[Candidate], then: Iterable[Candidate] = ()) -> list[int]:
        """Whether each is interesting; `then` are those whose turn may come next."""
        self.asked += len(candidates)
        if self._ahead == 1:
            return list(self._interesting(candidates))
        missing = {c.key: c for c in candidates if c.key not in self._known}
        programs = {c.program for c in missing.values()}
        for candidate in then if missing else ():
            if len(programs) >= self._width or len(missing) >= self._ahead:
                break
            if candidate.key not in self._known:
                missing[candidate.key] = candidate
                programs.add(candidate.program)
        if missing:
            found = list(self._interesting(list(missing.values())))
            self._known |= zip(missing, found, strict=True)
            self._width = min(self._ahead, _WIDTH if Interest.YES in found else 2 * self._width)
        return [self._known[c.key] for c in candidates]

    def first(self, current: Candidate, number: int, place: int) -> tuple[Candidate | None, int]:
        """The first smaller and interesting candidate of a reduction from `place` on, and the next place.

        Places before the last success have just failed; they are not tried again before the next round.
        """
        limit = cost(current)
        after = partial(self._upcoming, current, number, place)
        for (candidate, at), holds in self._tried(self._smaller(current, number, place), after):
            if holds == Interest.YES:
                return candidate, at
            if holds == Interest.NEARLY and candidate.program != current.program:
                varied = partial(self._varied, candidate, limit)
                for (other, _), also in self._tried(((v, at) for v in varied()), varied, after):
                    if also == Interest.YES:
                        return other, at
        return None, -1

    def _tried(
        self, candidates: Iterator[Placed], *upcoming: Callable[[], Iterator[Candidate]]
    ) -> Iterator[tuple[Placed, int]]:
        """Candidates with their places, and whether each is interesting, as long as the budget lasts."""
        while not self.spent and (chunk := list(itertools.islice(candidates, self._batch))):
            then = itertools.chain.from_iterable(more() for more in upcoming)
            for item, holds in zip(chunk, self.ask([c for c, _ in chunk], then), strict=True):
                if holds != Interest.YES:
                    self._boring.add(item[0].key)
                yield item, holds

    def _varied(self, candidate: Candidate, limit: tuple[object, ...]) -> Iterator[Candidate]:
        """Candidates that differ from it in numbers only."""
        return (v for v in variations(candidate) if self._is_new(v, limit))

    def _upcoming(self, current: Candidate, number: int, place: int) -> Iterator[Candidate]:
        """What is tried, from a place of a reduction on, as long as nothing smaller is interesting."""
        limit = cost(current)
        for k in (*range(number, len(REDUCTIONS)), *range(number)):
            for candidate, _ in self._smaller(current, k, place if k == number else 0):
                yield candidate
                if self._known.get(candidate.key) == Interest.NEARLY and candidate.program != current.program:
                    yield from self._varied(candidate, limit)

    def _is_new(self, candidate: Candidate, limit: tuple[object, ...]) -> bool:
        return cost(candidate) < limit and candidate.key not in self._boring

    def _smaller(self, current: Candidate, number: int, place: int) -> Iterator[Placed]:
        """The well-formed candidates of a reduction that cost less than `current` and are untried, with their
        places.
        """
        limit = cost(current)
        for at, draft in itertools.islice(enumerate(REDUCTIONS[number](current)), place, None):
            candidate = _whole(current, draft)
            if candidate is not None and self._is_new(candidate, limit):
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
        filled = {name: np.full_like(candidate.inputs[name], value) for name in floats}
        yield replace(candidate, inputs={**candidate.inputs, **filled})


def _whole(current: Candidate, draft: Draft) -> Candidate | None:
    """A candidate that type-checks and has real outputs, with inputs and weights that fit it, or None."""
    if isinstance(draft, Program):
        draft = replace(current, program=draft)
    try:
        typed = typecheck(draft.program)
    except ProgramError:
        return None
    candidate = draft.fitted(draft.program, typed)
    weighted = any(w is not None for w in candidate.weights)
    real = not any(t.is_complex for t in typed.outputs)
    return candidate if real and weighted and candidate.wrt else None


# Cost -------------------------------------------------------------------------------------------------------

_FORMS = {For: 0, While: 1, Repeat: 2}
_OPS = {"multiply": 0, "sin": 0, "add": 1, "subtract": 2}


def operations(program: Program) -> int:
    """The number of operations in a program's text."""
    return sum(isinstance(node, Call) for node in walk(program))


def cost(candidate: Candidate) -> tuple[object, ...]:
    """What shrinking lowers, by importance: loops, branches, operations, statements, names, numbers."""
    program = candidate.program
    nodes = list(walk(program))
    loops = [n for n in nodes if isinstance(n, Loop)]
    calls = [n for n in nodes if isinstance(n, Call)]
    names = [n for n in nodes if isinstance(n, Name)]
    consts = [n for n in nodes if isinstance(n, Const)]
    consts += [c for n in nodes if isinstance(n, ArrayConst) for c in n.values]
    floats = [c.value for c in consts if isinstance(c.value, float)]
    ints = [abs(c.value) for c in consts if isinstance(c.value, int)]
    entries = _entries(candidate, candidate.inputs)
    companions = [v for other in candidate.others for v in _entries(candidate, other)]
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
        len(entries),
        sum(sum(p.type.sizes) for p in program.params),
        len(names),
        sum(_OPS.get(c.op, 3) for c in calls),
        sum(_plain_parameters(c) for c in calls),
        sum(ints),
        sum(plainness(v, PLAIN_CONSTANTS) for v in floats),
        sum(plainness(v) for v in entries),
        (len(varying_inputs(candidate)), sum(plainness(v) for v in companions), candidate.place),
        sum(int(np.count_nonzero(w != 1.0)) for w in weights),
        tuple(n.id for n in names),
    )


def _entries(candidate: Candidate, inputs: Mapping[str, Array]) -> list[float]:
    return [float(v) for p in candidate.program.params for v in inputs[p.name].ravel().tolist()]


def _plain_parameters(call: Call) -> int:
    """How far an op's axes and windows are from their defaults, and how large they are."""
    defaults = dict(OPS[call.op].params)
    params = [(name, value) for name, value in call.params if name in _PLAIN_PARAMETERS]
    return sum(100 * (value != defaults[name]) + _sum(value) for name, value in params)


_PLAIN_PARAMETERS = ("axis", "keepdims", "window", "strides", "padding")


def _sum(value: ParamValue) -> int:
    if isinstance(value, tuple):
        return sum(map(_sum, value))
    return abs(value) if isinstance(value, int) else 0

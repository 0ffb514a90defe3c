"""Slopes at a kink along more directions than the coordinate axes.

Slopes by coordinate do not tell a legal choice from a wrong one where several entries tie. For max(x1, x2,
x3) at x1 = x2 = x3 each slope lies between 0 and 1. The answer (1, 1, 0) lies between them everywhere, but
says that the maximum grows twice as fast as its arguments. Along (1, 1, 1) both slopes are 1. Where one
selection makes the kink, every legal answer g is a mean of the gradients of what it selects from, so <g, d>
lies between the slopes along every direction d (Clarke 1983, section 2.3: a generalized gradient of a
maximum).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.base import Array, Point, Question, Reference, Slopes
from gradfuzz.programs.language.program import Program, names_in, walk
from gradfuzz.programs.language.syntax import ArrayConst, Assign, Call, Const, Expr, Name, Param
from gradfuzz.programs.language.types import Type

_RANDOM = 2
"""Random directions beside that of ones: a wrong answer must lie between the slopes along all to pass."""

_EIGHTHS = np.array([-16, -13, -11, -9, -6, -5, 5, 6, 9, 11, 13, 16]) / 8
"""Exact in every precision."""


def directions_across(question: Question) -> Iterator[Mapping[str, Array]]:
    """Directions over all differentiated entries: ones, and fixed signed ones. None for a single entry."""
    shapes = {name: np.shape(question.points[0].inputs[name]) for name in question.wrt}
    if sum(int(np.prod(shape)) for shape in shapes.values()) < 2:
        return
    yield {name: np.ones(shape) for name, shape in shapes.items()}
    rng = np.random.default_rng(0)
    for _ in range(_RANDOM):
        yield {name: np.asarray(rng.choice(_EIGHTHS, size=shape)) for name, shape in shapes.items()}


def on_a_line(question: Question, point: Point, direction: Mapping[str, Array]) -> Question:
    """The same F as a function of one number t at t = 0: every input in `wrt` is x + t d. From order two on
    it has another one, s, along the question's own directions, by which all but the last derivatives are
    taken.
    """
    program = question.program
    taken = {p.name for p in program.params} | names_in(program)
    taken |= {n.target for n in walk(program) if isinstance(n, Assign)}
    free = (name for name in ("t" + "_" * k for k in range(len(taken) + 2)) if name not in taken)
    lines = {next(free): direction}
    if question.order > 1:
        lines[next(free)] = question.directions
    moves = tuple(
        Assign(name, _moved(name, t, line[name]))
        for t, line in lines.items()
        for name in question.wrt
        if np.size(line[name])
    )
    params = (*program.params, *(Param(t, Type("float")) for t in lines))
    start = Point({**point.inputs, **{t: np.zeros((), question.precision) for t in lines}})
    along = {t: np.asarray(float(k == len(lines) - 1)) for k, t in enumerate(lines)}
    return replace(
        question.plain,
        program=Program(program.name, params, (*moves, *program.body)),
        points=(start,),
        wrt=tuple(lines),
        directions=along,
    )


def _moved(name: str, t: str, direction: Array) -> Expr:
    entries = tuple(Const(float(d)) for d in direction.ravel())
    by: Expr = ArrayConst("float", direction.shape, entries) if direction.shape else entries[0]
    return Call("add", (Name(name), Call("multiply", (Name(t), by))))


def slopes_across(question: Question, point: Point, reference: Reference) -> tuple[Slopes, ...]:
    """The slopes along `directions_across` that `reference` can measure, on both sides of the point."""
    found = []
    for direction in directions_across(question):
        asked = on_a_line(question, point, direction)
        (truth,) = reference.truth(asked)
        if truth.left is not None and truth.right is not None and truth.side_bounds is not None:
            sides = truth.left, truth.right, truth.side_bounds
            left, right, bound = (float(_only(side, asked.wrt)) for side in sides)
            found.append(Slopes(direction, left, right, bound))
    return tuple(found)


def _only(side: Mapping[str, Array], wrt: Sequence[str]) -> Array:
    (name,) = wrt
    return side[name]

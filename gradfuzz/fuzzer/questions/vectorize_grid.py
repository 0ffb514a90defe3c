"""The grid of vectorized calls: loops, matrix ops and tensor ops, each in the situations of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.weighted import in_precision, weighted_question
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.types import Type
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse
from gradfuzz.strategies.drawing.dice import Plain
from gradfuzz.strategies.inputs.point import Inputs
from gradfuzz.strategies.linalg.program import compose, point_of
from gradfuzz.strategies.linalg.recipes import RECIPES
from gradfuzz.strategies.tensor.blanks import fits
from gradfuzz.strategies.tensor.program import compose_tensor, tensor_point
from gradfuzz.strategies.tensor.recipes import TENSOR_RECIPES

Mixes = tuple[tuple[Mode, ...], ...]
"""Several lists of modes."""

FIRST_ORDER: Mixes = (("rev",), ("fwd",))
SECOND_ORDER: Mixes = (("rev", "rev"), ("fwd", "rev"), ("rev", "fwd"), ("fwd", "fwd"))

SITUATIONS = (
    *("one axis", "two axes", "shared operand", "batch 1", "equal instances"),
    *("float32", "jvp", "second order", "trips differ"),
)
"""The columns."""

_AT_Y: Mapping[str, str] = {"acc": "y"}
_MATRICES = dict.fromkeys(("x", "y"), Type("float", (2, 2)))

_LOOPS: Mapping[str, Program] = {
    "for": loop_program("acc*x + y"),
    "for, n trips": loop_program("sin(acc*x)", trips="n", init=_AT_Y),
    "while": loop_program("acc*x + 0.5", loop="while", condition="acc < 3.0", init=_AT_Y),
    "repeat": loop_program("acc*x + 0.5", loop="repeat", condition="acc < 3.0", init=_AT_Y),
    "while in for": parse("""
        def f(x, y):
            acc = y
            for i in range(2):
                t = acc
                while t < 2.0:
                    t = t * x
                acc = acc + t
            return acc"""),
    "break": parse("""
        def f(x, y):
            acc = y
            for i in range(5):
                acc = acc * x
                if acc > 2.0:
                    break
            return acc"""),
    "branch": parse("""
        def f(x, y):
            if x > 1.4:
                acc = x * y
            else:
                acc = sin(x) + y
            return acc"""),
    "matrix carry": loop_program("tanh(matmul(x, acc))", trips=2, init=_AT_Y, params=_MATRICES),
}
"""By name. At (x, y) = (1.25, 0.5), (1.5, 0.75), (2, 0.3125) loops that end by a value differ in trips."""


class Nth(Plain):
    """Makes the same decision every time, but not the simplest: another point of the same kind."""

    __slots__ = ("_place",)

    def __init__(self, place: int) -> None:
        super().__init__()
        self._place = place

    def below(self, n: int) -> int:
        return min(self._place, n - 1)


def instances(program: Program, points: Sequence[Inputs]) -> tuple[Question, ...]:
    """The questions of one call about a program at all `points`: by vjp and by jvp."""
    at = [Point(inputs) for inputs in points]
    return tuple(weighted_question(program, at, "float64", modes) for modes in FIRST_ORDER)


@dataclass(frozen=True, slots=True, eq=False)
class _BatchedProgram:
    """A program with two independent points, and three at which its loops differ in trips if they can."""

    op: str
    use: str
    program: Program
    points: Sequence[Inputs]
    trips: Sequence[Inputs] = ()


def vectorized_rows() -> Iterator[tuple[str, str, tuple[tuple[Question, ...], ...]]]:
    """The op, its use and the questions of each situation: loops, ops of linear algebra, tensor ops."""
    for batched in (*_loops(), *_matrices(), *_tensors()):
        yield batched.op, batched.use, tuple(tuple(_cell(batched, title)) for title in SITUATIONS)


def _loops() -> Iterator[_BatchedProgram]:
    for name, program in _LOOPS.items():
        near = [_loop_point(program, x, y, 2) for x, y in ((1.5, 0.5), (1.53125, 0.515625))]
        far = [_loop_point(program, *at) for at in ((1.25, 0.5, 1), (1.5, 0.75, 3), (2.0, 0.3125, 2))]
        fixed = name in ("for", "branch", "matrix carry")
        yield _BatchedProgram("loop", name, program, near, () if fixed else far)


def _loop_point(program: Program, x: float, y: float, n: int) -> Inputs:
    """Scalars, and arrays with different entries."""
    values = {"x": x, "y": y}
    point: dict[str, Any] = {}
    for p in program.params:
        steps = np.arange(math.prod(p.type.sizes)).reshape(p.type.sizes) / 8
        point[p.name] = np.asarray(values[p.name] + steps) if p.type.is_float else np.asarray(n)
    return point


def _matrices() -> Iterator[_BatchedProgram]:
    recipes = {recipe.op: recipe for recipe in reversed(RECIPES) if recipe.structure != "singular"}
    for op, recipe in sorted(recipes.items()):
        size = {"square": (2, 2), "tall": (3, 2), "wide": (2, 3)}[recipe.aspects[0]]
        program = compose(Plain(), recipe, (), size)
        points = [point_of(Nth(k), program, "float64") for k in (0, 1)]
        yield _BatchedProgram(op, f"{recipe.structure} {size[0]}x{size[1]}", program.program, points)


def _tensors() -> Iterator[_BatchedProgram]:
    recipes = {recipe.op: recipe for recipe in reversed(TENSOR_RECIPES)}
    for op, recipe in sorted(recipes.items()):
        shape = next(shape for shape in ((2, 3), (2, 1, 4)) if fits(recipe.want, shape))
        program = compose_tensor(Plain(), recipe, shape)
        points = [tensor_point(Nth(k), program, "float64", "fractions") for k in (0, 1)]
        yield _BatchedProgram(op, "tensor", program.program, points)


def _cell(batched: _BatchedProgram, title: str) -> Iterator[Question]:
    names = [p.name for p in batched.program.params]
    first, second = batched.points
    points: Sequence[Inputs] = batched.points
    precision: Precision = "float64"
    modes: Mixes = (("rev",),)
    match title:
        case "two axes" | "shared operand" if len(names) == 1:
            return
        case "two axes":
            points = [{**column, names[0]: row[names[0]]} for row in points for column in points]
        case "shared operand":
            points = [first, {**second, names[0]: first[names[0]]}]
        case "batch 1":
            points = [first]
        case "equal instances":
            points = [first, first]
        case "float32":
            precision = "float32"
        case "jvp":
            modes = (("fwd",),)
        case "second order":
            modes = SECOND_ORDER
        case "trips differ":
            points, modes = batched.trips, FIRST_ORDER
    if points:
        at = [Point(in_precision(inputs, precision)) for inputs in points]
        yield from (weighted_question(batched.program, at, precision, wanted) for wanted in modes)

"""The grid of vectorized calls: loops, matrix ops and tensor ops, each in the situations of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import Program
from gradfuzz.programs.text.parse import parse
from gradfuzz.strategies.drawing.dice import Plain
from gradfuzz.strategies.inputs.point import Inputs
from gradfuzz.strategies.linalg.program import compose, point_of
from gradfuzz.strategies.linalg.recipes import RECIPES
from gradfuzz.strategies.tensor.blanks import fits
from gradfuzz.strategies.tensor.program import compose_tensor, tensor_point
from gradfuzz.strategies.tensor.recipes import TENSOR_RECIPES

_FIRST: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",))
_SECOND: tuple[tuple[Mode, ...], ...] = (("rev", "rev"), ("fwd", "rev"), ("rev", "fwd"), ("fwd", "fwd"))

SITUATIONS = (
    "one axis",
    "two axes",
    "shared operand",
    "batch 1",
    "equal instances",
    "float32",
    "jvp",
    "second order",
    "trips differ",
)
"""The columns."""

_LOOPS: tuple[tuple[str, str], ...] = (
    (
        "for",
        "def f(x, y):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x + y\n    return acc\n",
    ),
    (
        "for, n trips",
        (
            'def f(x, y, n: "int"):\n    acc = y\n    for i in range(n):\n        acc = sin(acc * x)\n   '
            " return acc\n"
        ),
    ),
    (
        "while",
        "def f(x, y):\n    acc = y\n    while acc < 3.0:\n        acc = acc * x + 0.5\n    return acc\n",
    ),
    (
        "repeat",
        (
            "def f(x, y):\n    acc = y\n    while True:\n        acc = acc * x + 0.5\n        if not acc <"
            " 3.0:\n            break\n    return acc\n"
        ),
    ),
    (
        "while in for",
        (
            "def f(x, y):\n    acc = y\n    for i in range(2):\n        t = acc\n        while t < 2.0:\n    "
            "        t = t * x\n        acc = acc + t\n    return acc\n"
        ),
    ),
    (
        "break",
        (
            "def f(x, y):\n    acc = y\n    for i in range(5):\n        acc = acc * x\n        if acc >"
            " 2.0:\n            break\n    return acc\n"
        ),
    ),
    (
        "branch",
        (
            "def f(x, y):\n    if x > 1.4:\n        acc = x * y\n    else:\n        acc = sin(x) + y\n   "
            " return acc\n"
        ),
    ),
    (
        "matrix carry",
        (
            'def f(x: "float[2, 2]", y: "float[2, 2]"):\n    acc = y\n    for i in range(2):\n        acc ='
            " tanh(matmul(x, acc))\n    return acc\n"
        ),
    ),
)
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
    return tuple(weighted_question(program, at, "float64", modes) for modes in _FIRST)


@dataclass(frozen=True, slots=True, eq=False)
class _Subject:
    """A program with two independent points, and three at which its loops differ in trips if they can."""

    op: str
    use: str
    program: Program
    points: Sequence[Inputs]
    trips: Sequence[Inputs] = ()


def vectorized_rows() -> Iterator[tuple[str, str, tuple[tuple[Question, ...], ...]]]:
    """The op, its use and the questions of each situation: loops, ops of linear algebra, tensor ops."""
    for subject in (*_loops(), *_matrices(), *_tensors()):
        yield subject.op, subject.use, tuple(tuple(_cell(subject, title)) for title in SITUATIONS)


def _loops() -> Iterator[_Subject]:
    for name, text in _LOOPS:
        program = parse(text)
        near = [_loop_point(program, x, y, 2) for x, y in ((1.5, 0.5), (1.53125, 0.515625))]
        far = [
            _loop_point(program, x, y, n) for x, y, n in ((1.25, 0.5, 1), (1.5, 0.75, 3), (2.0, 0.3125, 2))
        ]
        yield _Subject(
            "loop", name, program, near, far if name not in ("for", "branch", "matrix carry") else ()
        )


def _loop_point(program: Program, x: float, y: float, n: int) -> Inputs:
    """Scalars, and arrays with different entries."""
    values = {"x": x, "y": y}
    point: dict[str, Any] = {}
    for p in program.params:
        steps = np.arange(math.prod(p.type.sizes)).reshape(p.type.sizes) / 8
        point[p.name] = np.asarray(values[p.name] + steps) if p.type.is_float else np.asarray(n)
    return point


def _matrices() -> Iterator[_Subject]:
    recipes = {recipe.op: recipe for recipe in reversed(RECIPES) if recipe.structure != "singular"}
    for op, recipe in sorted(recipes.items()):
        size = {"square": (2, 2), "tall": (3, 2), "wide": (2, 3)}[recipe.aspects[0]]
        program = compose(Plain(), recipe, (), size)
        points = [point_of(Nth(k), program, "float64") for k in (0, 1)]
        yield _Subject(op, f"{recipe.structure} {size[0]}x{size[1]}", program.program, points)


def _tensors() -> Iterator[_Subject]:
    recipes = {recipe.op: recipe for recipe in reversed(TENSOR_RECIPES)}
    for op, recipe in sorted(recipes.items()):
        shape = next(shape for shape in ((2, 3), (2, 1, 4)) if fits(recipe.want, shape))
        program = compose_tensor(Plain(), recipe, shape)
        points = [tensor_point(Nth(k), program, "float64", "fractions") for k in (0, 1)]
        yield _Subject(op, "tensor", program.program, points)


def _cell(subject: _Subject, title: str) -> Iterator[Question]:
    names = [p.name for p in subject.program.params]
    first, second = subject.points
    points: Sequence[Inputs] = subject.points
    precision: Precision = "float64"
    modes: tuple[tuple[Mode, ...], ...] = (("rev",),)
    match title:
        case "two axes":
            mixed = [
                {name: (row if name == names[0] else column)[name] for name in names}
                for row in points
                for column in points
            ]
            points = mixed if len(names) > 1 else ()
        case "shared operand":
            points = [first, {**second, names[0]: first[names[0]]}] if len(names) > 1 else ()
        case "batch 1":
            points = [first]
        case "equal instances":
            points = [first, first]
        case "float32":
            precision = "float32"
        case "jvp":
            modes = (("fwd",),)
        case "second order":
            modes = _SECOND
        case "trips differ":
            points, modes = subject.trips, _FIRST
    if points:
        at = [
            Point({name: v.astype(precision) if v.dtype.kind == "f" else v for name, v in p.items()})
            for p in points
        ]
        yield from (weighted_question(subject.program, at, precision, wanted) for wanted in modes)

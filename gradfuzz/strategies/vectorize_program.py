"""The strategy for batches: a program of another family, at points along one or two axes of one call."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from gradfuzz.errors import EvaluationError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import arguments_of, interpret
from gradfuzz.programs.evaluation.layout import layout_of
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program, names_in
from gradfuzz.programs.language.syntax import For, Param, Repeat, While
from gradfuzz.programs.language.types import FLOAT
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.inputs.point import Inputs, draw_point
from gradfuzz.strategies.linalg.program import linalg_cases
from gradfuzz.strategies.linalg.recipes import RECIPES
from gradfuzz.strategies.loop.case import CaseView, GeneratedCase, draw_modes, draw_precision
from gradfuzz.strategies.loop.program import loops
from gradfuzz.strategies.tensor.program import tensor_cases

LAYOUTS: Odds[str] = Odds(
    *((26, "one axis"), (26, "two axes"), (20, "shared"), (10, "permuted")),
    *((6, "one instance"), (6, "equal"), (6, "unused")),
)
"""The layouts of the points: independent; a grid, with some inputs along its rows and some along its columns;
some inputs shared by all points; the same points permuted; a batch of one; equal points; a parameter that the
program does not use.
"""

_KINDS: Odds[str] = Odds((52, "loops"), (26, "linalg"), (22, "tensor"))
_MOST = 3
"""The most instances along an axis."""

_MATRIX_OPS = frozenset(recipe.op for recipe in RECIPES)


def lay_out(dice: Dice, layout: str, drawn: list[Inputs]) -> list[Inputs]:
    """Points combined from the inputs of `drawn`, at least two independent points."""
    names = list(drawn[0])
    n = 2 if len(drawn) < _MOST or not dice.chance(40) else _MOST
    rows = drawn[:n]
    match layout:
        case "one instance":
            return rows[:1]
        case "equal":
            return [rows[0]] * n
        case "permuted":
            return [rows[k] for k in dice.pick(list(itertools.permutations(range(n)))[1:])]
        case "shared" if len(names) > 1:
            kept = dice.pick(names)
            return [{name: row[name] if name == kept else rows[0][name] for name in names} for row in rows]
        case "two axes" | "unused" if len(names) > 1:
            first = names[-1] if layout == "unused" else dice.pick(names)
            columns = drawn[-2:]
            pairs = itertools.product(rows, columns)
            return [
                {name: (row if name == first else column)[name] for name in names} for row, column in pairs
            ]
    return rows


@st.composite
def vectorize_cases(draw: Draw, *, precisions: tuple[Precision, ...], max_order: int = 3) -> GeneratedCase:
    """Cases whose points are the instances of one vectorized call: loop, matrix and tensor programs."""
    dice = Dice(draw)
    kind, layout = dice.weighted(_KINDS), dice.weighted(LAYOUTS)
    if kind == "loops":
        base = _loop_case(draw, dice, precisions)
    else:
        drawn = tensor_cases(precisions=precisions, points=_MOST)
        if kind == "linalg":
            drawn = linalg_cases(precisions=precisions, max_side=3, points=_MOST)
        base = draw(drawn)
    program, points = base.program, list(base.points)
    if layout == "unused":
        program, points = _with_unused(program, points, base.precision)
    laid = tuple(lay_out(dice, layout, points))
    floats = tuple(p.name for p in program.params if p.type.is_float)
    wrt = floats if len(floats) < 2 or not dice.chance(50) else (dice.pick(floats),)
    modes = draw_modes(dice, max_order)
    return GeneratedCase(program, laid, wrt, base.precision, modes)


def _loop_case(draw: Draw, dice: Dice, precisions: tuple[Precision, ...]) -> GeneratedCase:
    program = draw(loops(max_trips=7))
    precision = draw_precision(dice, precisions, 30)
    points = tuple(draw_point(dice, program, precision, max_trips=7, extremes=False) for _ in range(_MOST))
    return GeneratedCase(program, points, (), precision)


def _with_unused(
    program: Program, points: list[Inputs], precision: Precision
) -> tuple[Program, list[Inputs]]:
    """The program and its points with one more scalar parameter that the program does not use."""
    taken = {p.name for p in program.params} | names_in(program)
    name = next(n for n in ("u", "v", *(f"u{k}" for k in range(99))) if n not in taken)
    more: list[Inputs] = [{**point, name: np.array(0.5 + k, precision)} for k, point in enumerate(points)]
    return replace(program, params=(*program.params, Param(name, FLOAT))), more


# What a case reaches ----------------------------------------------------------------------------------------


class VectorizeView(CaseView):
    """A case, and how its points share their inputs."""

    def __init__(self, case: GeneratedCase) -> None:
        super().__init__(case)
        self.layout = layout_of(case.points)
        self.shared = {name for name, axes in self.layout.axes.items() if not axes}
        self.several = len(case.points) > 1
        self.looping = any(isinstance(node, (For, While, Repeat)) for node in self.nodes)
        self.of_matrices = not self.ops.isdisjoint(_MATRIX_OPS)
        self.arrays = list(case.points[0].values())


def _same(a: Inputs, b: Inputs) -> bool:
    return all(a[name].tobytes() == b[name].tobytes() for name in a)


def _traces_differ(case: GeneratedCase) -> bool:
    """Whether a decision or a trip count differs between the points."""
    traces, namespace = [], NumpyNamespace(case.precision)
    for point in case.points:
        trace: list[int] = []
        with contextlib.suppress(EvaluationError):
            interpret(case.program, arguments_of(point), namespace, trip_limit=1000, trace=trace)
        traces.append(trace)
    return any(trace != traces[0] for trace in traces)


VECTORIZE_GOALS: dict[str, Callable[[VectorizeView], bool]] = {
    "loop": lambda v: v.looping,
    "matrix op": lambda v: v.of_matrices,
    "one axis": lambda v: len(v.layout.sizes) == 1 and v.several,
    "two axes": lambda v: len(v.layout.sizes) == 2,
    "shared input": lambda v: bool(v.shared),
    "one instance": lambda v: not v.several,
    "equal instances": lambda v: v.several and all(_same(v.case.points[0], p) for p in v.case.points),
    "unused parameter": lambda v: any(p.name not in names_in(v.case.program) for p in v.case.program.params),
    "trip count per instance": lambda v: v.looping and v.several and _traces_differ(v.case),
    "a shared input differentiated": lambda v: not v.shared.isdisjoint(v.case.wrt),
    "a varying input captured": lambda v: any(
        axes and name not in v.case.wrt for name, axes in v.layout.axes.items()
    ),
    "instances without entries": lambda v: v.several and any(x.size == 0 for x in v.arrays),
    "stacks of matrices": lambda v: v.of_matrices and any(x.ndim > 2 for x in v.arrays),
    "an order of two or more": lambda v: len(v.case.modes) > 1,
    "float32": lambda v: v.case.precision == "float32",
}
"""The goals by name."""

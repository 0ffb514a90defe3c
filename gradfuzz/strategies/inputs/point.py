"""Points: inputs of a program, ordinary ones and those where derivatives go wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.errors import EvaluationError
from gradfuzz.programs import Param, Program, Type
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import arguments_of, interpret
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.strategies.drawing.dice import TRIPS, Dice, Draw, Plain
from gradfuzz.strategies.drawing.display import shown
from gradfuzz.strategies.drawing.validation import check_int, check_precision, check_program
from gradfuzz.strategies.inputs.array import draw_numbers
from gradfuzz.strategies.inputs.matrix import draw_matrix
from gradfuzz.strategies.inputs.wants import Wants, wants_of

Inputs = Mapping[str, npt.NDArray[np.generic]]
"""One array per parameter, 0-d for scalars: floats in the working precision, ints int64."""

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")
"""The precisions that are drawn by default."""
_NAMESPACES = {p: NumpyNamespace(p) for p in FORMATS}


@st.composite
def points(
    draw: Draw,
    program: Program,
    *,
    precision: Precision = "float64",
    max_trips: int = 17,
    extremes: bool = True,
) -> Inputs:
    """Inputs of `program`, exactly representable in `precision`, at which it nearly always has a finite
    value.

    Scalars are ordinary, powers of two, near zero (down to 1e-12, in float16 to 1e-3), zero, large (to 1000)
    and, with `extremes`, rarely huge or tiny; two inputs may be equal. A parameter that the program divides
    by, or passes directly to log, sqrt or pow, stays in that domain. Arrays have ordinary entries, equal
    entries, or one or two zeros. A matrix that an op of linear algebra takes is drawn as `matrices` draws it,
    positive definite where Cholesky needs it. An int is an index, or a trip count up to `max_trips` that
    stays inside the arrays that a counter indexes.

    Shrinks towards 0.5 everywhere, and matrices towards small multiples of 1/4.
    """
    check_program(program)
    check_precision(precision)
    check_int("max_trips", max_trips, 0)
    point = draw_point(Dice(draw), program, precision, max_trips=max_trips, extremes=extremes)
    return {name: shown(value) for name, value in point.items()}


def draw_point(
    dice: Dice, program: Program, precision: Precision, *, max_trips: int = 17, extremes: bool = True
) -> Inputs:
    """One point. If the program is not finite there, the numbers move between 1/2 and 1, signs kept."""
    wants = wants_of(program)
    most = max_trips if wants.most_trips is None else min(max_trips, wants.most_trips)
    inputs: dict[str, npt.NDArray[np.generic]] = {}
    extreme = False
    types: dict[Type, str] = {}
    for p in program.params:
        shape = p.type.sizes
        if p.type.dtype == "int":
            inputs[p.name] = _ints(dice, p, wants, most)
        elif p.type.dtype == "bool":
            inputs[p.name] = np.full(shape, dice.chance(50), np.bool_)
        elif p.name in wants.structures:
            inputs[p.name] = draw_matrix(dice, shape, wants.structures[p.name], precision, extremes=extremes)
        elif p.type in types and dice.chance(7) and wants.domains.get(p.name, "any") == "any":
            inputs[p.name] = inputs[types[p.type]]
        else:
            values, far = draw_numbers(dice, shape, precision, wants.domains.get(p.name, "any"), extremes)
            inputs[p.name] = values
            extreme = extreme or far
            types.setdefault(p.type, p.name)
    if extreme or defined(program, inputs, precision):
        return inputs
    matrices = wants.structures.items()
    simple = {name: draw_matrix(Plain(), inputs[name].shape, s, precision) for name, s in matrices}
    tamed = {name: simple.get(name, _tamed(value)) for name, value in inputs.items()}
    if defined(program, tamed, precision):
        return tamed
    halves = {name: np.full_like(v, 0.5) if is_float(v.dtype) else v for name, v in inputs.items()}
    return halves | simple


def _ints(dice: Dice, param: Param, wants: Wants, most: int) -> npt.NDArray[np.generic]:
    """Drawn indices, or one trip count."""
    shape = param.type.sizes
    below = wants.below.get(param.name)
    if below:
        return np.array([dice.below(below) for _ in range(math.prod(shape))], np.int64).reshape(shape)
    counts = TRIPS.where(lambda n: n <= most)
    return np.full(shape, dice.weighted(counts) if below is None and counts.rows else 0, np.int64)


def defined(program: Program, inputs: Inputs, precision: Precision = "float64") -> bool:
    """Whether the program's value and every number on the way to it are finite in `precision`."""
    if refused_op(program, precision) is not None:
        return False
    try:
        outputs = interpret(program, arguments_of(inputs), _NAMESPACES[precision], trip_limit=1000)
    except EvaluationError:
        return False
    return all(bool(np.all(np.isfinite(value))) for value in outputs)


def _tamed(value: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    if not is_float(value.dtype):
        return value
    floats = cast("npt.NDArray[np.float64]", value)
    return np.asarray(np.frexp(floats)[0], value.dtype)

"""Elementwise functions alone: at ordinary numbers, at poles and branch points, at both ends of the range.

A program is one function of its parameters, scalars or small arrays, sometimes times the first of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.programs import Type
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.strategies.drawing.algebra import written
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.shape import Shape
from gradfuzz.strategies.inputs.point import PRECISIONS
from gradfuzz.strategies.loop.case import GeneratedCase, check_asked, draw_modes, draw_precision

_SHAPES: Odds[Shape] = Odds((60, ()), (30, (3,)), (10, (2, 2)))
_ORDINARY = (0.37, -0.71, 1.23, 2.57, -3.1, 0.11)  # none a multiple of another, where fmod jumps
_NEAR_ZERO = (0.0, 1e-3, -1e-3, 1e-7, -1e-7)
_WHOLE = (1.0, 2.0, -1.0, 0.5, 1.5, -2.5, 3.0)
_LARGE = (20.0, -20.0, 100.0, -100.0, 1e4, -1e4)


@st.composite
def function_cases(
    draw: Draw,
    *,
    ops: tuple[str, ...] | None = None,
    precisions: tuple[Precision, ...] = PRECISIONS,
    max_order: int = 3,
) -> GeneratedCase:
    """Cases about one elementwise function each, of all or of `ops`. Shrinks towards the first of them."""
    check_asked(precisions, max_order)
    dice = Dice(draw)
    row = FUNCTIONS[dice.pick(list(FUNCTIONS if ops is None else ops))]
    shape = dice.weighted(_SHAPES)
    params = "".join(f", {name}={dice.pick((1, 2))}" for name in row.params)
    call = f"{row.name}({', '.join(row.arguments)}{params})"
    if not row.step and dice.chance(25):
        call = f"x * {call}"
    program = written(dict.fromkeys(row.arguments, Type("float", shape)), (), call)
    precision = draw_precision(dice, precisions, 40)
    modes = draw_modes(dice, max_order)
    points = tuple(_point(dice, row, shape, precision) for _ in range(1 + dice.below(4)))
    return GeneratedCase(program, points, row.arguments, precision, modes)


def _point(
    dice: Dice, row: Function, shape: Shape, precision: Precision
) -> Mapping[str, npt.NDArray[np.generic]]:
    dtype = FORMATS[precision].dtype
    return {
        name: np.array([_number(dice, row, name == row.arguments[-1]) for _ in range(math.prod(shape))])
        .reshape(shape)
        .astype(dtype)
        for name in row.arguments
    }


def _number(dice: Dice, row: Function, last: bool) -> float:
    """A number, of the last argument one inside the domain: often near an end of it."""
    low, high = row.domain if last else (-math.inf, math.inf)
    numbers: tuple[float, ...] = dice.weighted(_KINDS)
    value = dice.pick(numbers)
    if math.isinf(low) and math.isinf(high):
        return value
    if math.isinf(high):
        return low + max(abs(value), 1e-3 if not row.closed else 0.0)
    middle, half = (low + high) / 2, (high - low) / 2
    return middle + half * (value / (1.0 + abs(value)))


_KINDS: Odds[tuple[float, ...]] = Odds((50, _ORDINARY), (15, _NEAR_ZERO), (20, _WHOLE), (15, _LARGE))


def function_triggers(case: GeneratedCase) -> frozenset[str]:
    """Which function a case is about."""
    text = str(case.program)
    return frozenset(name for name in FUNCTIONS if f" {name}(" in text)

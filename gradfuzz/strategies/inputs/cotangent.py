"""Cotangents: one weight for each output entry of a program, so that the weighted sum is a scalar."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.programs import Program, typecheck
from gradfuzz.strategies.drawing.dice import Dice, Draw
from gradfuzz.strategies.drawing.display import shown
from gradfuzz.strategies.drawing.validation import check_numbers, check_program, reject

Cotangents = tuple[npt.NDArray[np.float64] | None, ...]

_UNIT = 8
"""Weights are multiples of 1/8."""
_LARGEST = 32
"""Eight bits hold every multiple of 1/8 up to this, so the weights are exact in bfloat16."""
_ONE_BY_ONE = 64
"""Beyond this many, a seeded generator draws the weights: Hypothesis limits the numbers of a draw."""


@st.composite
def cotangents(
    draw: Draw, program: Program, *, min_value: float = -2.0, max_value: float = 2.0
) -> Cotangents:
    """One weight for each entry of each float output of `program`, in the form of `Question.weights`; None
    for an output that is not a float.

    Weights are multiples of 1/8 from `min_value` to `max_value`, exact in every precision. At least one of
    them is not 0. Shrinks towards ones, or towards the nearer bound.
    """
    check_program(program)
    check_numbers(min_value=min_value, max_value=max_value)
    given = f"min_value={min_value!r}, max_value={max_value!r}"
    if not -_LARGEST <= min_value <= max_value <= _LARGEST:
        reject(f"{given}: -32 <= min_value <= max_value <= 32 must hold")
    low, high = math.ceil(min_value * _UNIT), math.floor(max_value * _UNIT)
    order = sorted(range(low, high + 1), key=lambda k: (abs(k - _UNIT), k))
    if order in ([], [0]):
        reject(f"{given}: no multiple of 1/8 but 0 lies between them")
    dice = Dice(draw)
    shapes = [t.sizes if t.is_float else None for t in typecheck(program).outputs]
    sizes = [0 if shape is None else math.prod(shape) for shape in shapes]
    if sum(sizes) <= _ONE_BY_ONE:
        places = [dice.below(len(order)) for _ in range(sum(sizes))]
    else:
        places = _many(dice, len(order), sum(sizes))
    weights = np.array([order[place] for place in places], np.float64) / _UNIT
    if weights.size and not weights.any():
        weights[0] = next(k for k in order if k) / _UNIT
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    pairs = zip(shapes, parts, strict=True)
    return tuple(None if shape is None else shown(part.reshape(shape)) for shape, part in pairs)


def _many(dice: Dice, below: int, count: int) -> list[int]:
    rng = np.random.default_rng(dice.below(1 << 16))
    places: list[int] = rng.integers(0, below, count).tolist()
    return places

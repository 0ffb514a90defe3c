"""The values of arrays of floats: styles, of which a function takes some and refuses others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.strategies.drawing.dice import Dice

DTYPES = (
    (58, "float64"),
    (20, "float32"),
    (12, "complex128"),
    (4, "complex64"),
    (3, "float16"),
    (3, "bfloat16"),
)
"""Weight and name of the dtype that the arrays of floats of a call have."""

_GRID = 64
"""The distinct numbers of a style: enough for the arrays of a call without a tie."""

Number = Callable[[float], float]
"""A number of a style from a place in (0, 1)."""


@dataclass(frozen=True, slots=True)
class Style:
    """How entries are drawn: `number` of distinct places, or of `few` places with ties."""

    weight: int
    number: Number
    few: int = _GRID
    square: str = ""
    """What square matrices of this style are: "symmetric", "definite"."""
    ordered: bool = False
    """Whether the entries increase along the last axis."""


STYLES = {
    "ordinary": Style(34, lambda u: _rounded(6.0 * u - 3.0)),
    "positive": Style(12, lambda u: _rounded(0.1 + 3.0 * u)),
    "unit": Style(14, lambda u: _rounded(0.05 + 0.9 * u)),
    "above one": Style(5, lambda u: _rounded(1.1 + 3.0 * u)),
    "ties": Style(8, lambda u: round(4.0 * u - 2.0) / 2.0, few=9),
    "special": Style(5, lambda u: (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.0)[int(8 * u)], few=8),
    "wide": Style(5, lambda u: _rounded(math.copysign(2.0 ** (9.0 * abs(2.0 * u - 1.0) - 3.0), u - 0.5))),
    "huge": Style(2, lambda u: _rounded(2000.0 * u - 1000.0)),
    "tiny": Style(2, lambda u: math.ldexp(_rounded(6.0 * u - 3.0), -20)),
    "definite": Style(7, lambda u: _rounded(2.0 * u - 1.0), square="definite"),
    "symmetric": Style(4, lambda u: _rounded(6.0 * u - 3.0), square="symmetric"),
    "ordered": Style(4, lambda u: _rounded(6.0 * u - 3.0), ordered=True),
}
"""The styles by their names. Values have few bits: they are exact in single precision."""


def _rounded(x: float) -> float:
    return math.floor(x * 128.0) / 128.0 + 1.0 / 256.0


def dtype_named(name: str) -> np.dtype[np.generic]:
    """The dtype of NumPy, bfloat16 included."""
    return FORMATS["bfloat16"].dtype if name == "bfloat16" else np.dtype(name)


def filled(dice: Dice, shape: tuple[int, ...], dtype: str, style: Style) -> Array:
    """An array in a style; entries of complex arrays have both parts."""
    if dtype.startswith("complex"):
        parts = filled(dice, shape, "float64", style), filled(dice, shape, "float64", style)
        if style.square and len(shape) > 1 and shape[-1] == shape[-2]:  # Hermitian
            imaginary = np.triu(parts[1], 1)
            return np.asarray(parts[0] + 1j * (imaginary - imaginary.swapaxes(-1, -2)) / 4.0, dtype)
        return np.asarray(parts[0] + 1j * parts[1], dtype)
    count = math.prod(shape)
    places = _places(dice, count, style.few)
    entries = np.array([style.number((k + 0.5) / style.few) for k in places], np.float64).reshape(shape)
    if style.ordered and shape:
        entries = np.sort(entries, axis=-1)
    if style.square and len(shape) > 1 and shape[-1] == shape[-2]:
        entries = (entries + entries.swapaxes(-1, -2)) / 2.0
        if style.square == "definite":
            entries = entries + (shape[-1] + 1.0) * np.eye(shape[-1])
    return entries.astype(dtype_named(dtype))


def _places(dice: Dice, count: int, few: int) -> list[int]:
    """Places in [0, few): distinct where there are enough, in an order that begins anywhere."""
    if few < _GRID:
        return [dice.below(few) for _ in range(count)]
    start, step = dice.below(few), 2 * dice.below(few // 2) + 1
    return [(start + k * step) % few for k in range(count)]

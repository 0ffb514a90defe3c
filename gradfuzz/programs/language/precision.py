"""The working precisions: what `float` may mean while a program is evaluated.

    precision   significant bits   roundoff   smallest normal   largest
    float64     53                 2^-53      2^-1022           1.8e308
    float32     24                 2^-24      2^-126            3.4e38
    bfloat16    8                  2^-8       2^-126            3.4e38
    float16     11                 2^-11      2^-14             65504

bfloat16 is a NumPy dtype by `ml_dtypes`, whose import gives NumPy the name. Its kind is "V", not "f":
`is_float` knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import ml_dtypes
import numpy as np

Precision = Literal["float32", "float64", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format: `roundoff` is half the distance from 1 to the next number, `normal` the
    smallest normal number.
    """

    dtype: np.dtype[Any]
    roundoff: float
    normal: float
    largest: float

    @property
    def complex_dtype(self) -> Any:
        """The scalar type of complex numbers: pairs of float64, of float32 in all other formats."""
        return np.complex128 if self.dtype == np.float64 else np.complex64

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number."""
        return 2.0 * self.roundoff

    @property
    def half_of_the_digits(self) -> float:
        """The relative error that leaves a number half of its digits."""
        return math.sqrt(self.roundoff)


def _format(name: str) -> Format:
    facts = ml_dtypes.finfo(name)
    return Format(np.dtype(name), float(facts.eps) / 2.0, float(facts.smallest_normal), float(facts.max))


FORMATS: Mapping[Precision, Format] = {name: _format(name) for name in get_args(Precision)}
HALF: tuple[Precision, ...] = ("bfloat16", "float16")
"""The precisions of two bytes, in which LAPACK does not compute."""

_BY_DTYPE = {f.dtype: f for f in FORMATS.values()}


def format_of(dtype: Any) -> Format:
    """The format of a float dtype."""
    return _BY_DTYPE[np.dtype(dtype)]


def is_float(dtype: Any) -> bool:
    """Whether a NumPy dtype is one of real floats: NumPy's own, or bfloat16."""
    return bool(dtype.kind == "f" or dtype in _BY_DTYPE)


def rounded(value: float | int, precision: Precision) -> float:
    """The number of `precision` nearest to `value`; infinite beyond the largest."""
    if precision == "float64":
        return float(value)
    with np.errstate(over="ignore", under="ignore"):
        return float(FORMATS[precision].dtype.type(value))


def all_rounded(values: np.ndarray[Any, np.dtype[np.float64]], precision: Precision) -> Any:
    """The same of an array of numbers, in float64."""
    if precision not in ("float64", "float32"):
        return np.array([rounded(value, precision) for value in values.tolist()], np.float64)
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(precision).astype(np.float64)

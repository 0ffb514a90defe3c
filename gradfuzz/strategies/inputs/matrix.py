"""Matrices with a structure (see `matrices`), a spectrum and a condition number, exact in their dtype."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np
import numpy.random  # NumPy loads it at first use, which would be while Hypothesis times a draw
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.display import shown
from gradfuzz.strategies.drawing.shape import Aspect, Shape, draw_batch, draw_size
from gradfuzz.strategies.drawing.validation import check_numbers, check_precision, check_shape, reject

Structure = Literal[
    "general",
    "spd",
    "symmetric",
    "lower",
    "upper",
    "orthogonal",
    "companion",
    "low rank",
    "singular",
    "zero line",
    "repeated",
    "near repeated",
]
STRUCTURES: tuple[Structure, ...] = get_args(Structure)
RECTANGULAR: frozenset[Structure] = frozenset(("general", "orthogonal", "low rank", "singular", "zero line"))
"""The structures that rectangular matrices can have."""

Matrix = npt.NDArray[np.float64]

_KINDS: Odds[tuple[str, float]] = Odds(
    *((60, ("quarters", 1.0)), (48, ("spectrum", 4.0)), (6, ("spectrum", 1.0))),
    *((24, ("spectrum", 1e2)), (10, ("spectrum", 1e4)), (4, ("spectrum", 1e8)), (2, ("spectrum", 1e12))),
    *((6, ("scaled", 2.0**-20)), (6, ("scaled", 2.0**20))),
    *((2, ("tiny", 1.0)), (2, ("huge", 1.0)), (2, ("denormal", 1.0))),
)
"""Small multiples of 1/4 with a heavy diagonal; given condition numbers; then the first kind, scaled away
from 1, at last to the cube root of the dtype's largest number and below its smallest normal one.
"""
_NEAR_ONE = _KINDS.where(lambda kind: kind[0] in ("quarters", "spectrum"))


def _quarters(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Multiples of 1/4 with a heavy main diagonal: condition numbers of a few."""
    values: Matrix = rng.integers(-6, 7, shape) / 4
    k = min(shape[-2:])
    values[..., range(k), range(k)] += np.arange(3, 3 + k)
    return values


def _rotation(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Stacks of orthogonal matrices with as many rows as the last entry of `shape`."""
    if 0 in shape:
        return np.zeros((*shape, shape[-1]))
    return np.linalg.qr(rng.normal(size=(*shape, shape[-1])))[0]


def _orthogonal(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Orthonormal rows or columns: either up to rounding, or exact as those of a signed permutation."""
    *batch, m, n = shape
    k = max(m, n)
    if rng.integers(0, 2):
        values = _rotation(rng, (*batch, k))
    else:
        order = np.argsort(rng.random((*batch, k)), -1)
        values = np.eye(k)[order] * rng.choice([-1.0, 1.0], (*batch, 1, k))
    return values[..., :m, :n]


def _spectrum(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    condition: float,
    *,
    structure: Structure,
    exact: bool = False,
) -> Matrix:
    """Singular values (eigenvalues of the symmetric) spread evenly in the exponent from 1 to 1/condition,
    times numbers near 1.

    With `exact`, the ratio of the largest to the smallest is `condition`.
    """
    *batch, m, n = shape
    k = min(m, n)
    steps = np.linspace(0.0, 1.0, k) if k > 1 else np.zeros(k)
    values = condition**-steps * rng.uniform(1.0, 1.25, (*batch, k))
    if exact:
        values = np.clip(values, 1.0 / condition, 1.0)
        values[..., :1], values[..., -1:] = 1.0, 1.0 / condition
    if structure == "symmetric":
        values = values * rng.choice([-1.0, 1.0], (*batch, k))
    left, symmetric = _rotation(rng, (*batch, m))[..., :k], structure in ("spd", "symmetric")
    right = left if symmetric else _rotation(rng, (*batch, n))[..., :k]
    result: Matrix = (left * values[..., np.newaxis, :]) @ np.swapaxes(right, -1, -2)
    return (result + np.swapaxes(result, -1, -2)) / 2 if symmetric else result


def _thin(
    rng: np.random.Generator, shape: tuple[int, ...], ranks: npt.NDArray[np.int64], unit: float
) -> Matrix:
    """Products of thin matrices of small multiples of `unit`, one rank of `ranks` per instance."""
    *batch, m, n = shape
    k = min(m, n)
    kept = np.arange(k) < ranks[..., np.newaxis, np.newaxis]
    left = rng.integers(-2, 3, (*batch, m, k)) * unit * kept
    product: Matrix = left @ (rng.integers(-2, 3, (*batch, k, n)) * unit)
    return product


def _low_rank(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    k = min(shape[-2:])
    return _thin(rng, shape, rng.integers(min(1, k - 1), max(k, 1), shape[:-2]), 0.25)


def _singular(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """The determinant is exactly 0. Every other instance has corank 1, where its gradient is not 0."""
    k = min(shape[-2:])
    ranks = np.where(rng.integers(0, 2, shape[:-2]) == 0, k - 1, rng.integers(0, max(k, 1), shape[:-2]))
    return _thin(rng, shape, np.maximum(ranks, 0), 1.0)


def _zero_line(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    values = _quarters(rng, shape)
    axis = -1 - int(rng.integers(0, 2))
    np.moveaxis(values, axis, 0)[int(rng.integers(0, shape[axis]))] = 0.0
    return values


def repeated(
    integers: Callable[[np.random.Generator, Shape], npt.NDArray[Any]],
    rng: np.random.Generator,
    shape: Shape,
    nearest: int | None = None,
) -> npt.NDArray[Any]:
    """c I + v v^H for small integers; with `nearest` the eigenvalues are apart by 2^-4 or less, and by more
    than 2 to the power of its negative.
    """
    gap = 2.0 ** -float(rng.integers(4, nearest)) if nearest else 0.0
    v = integers(rng, (*shape[:-1], 1))
    twice = np.eye(shape[-1]) * rng.integers(1, 4) + v @ np.conj(np.swapaxes(v, -1, -2))
    return np.asarray(twice + np.diag(gap * np.arange(shape[-1])))


def _integers(rng: np.random.Generator, shape: Shape) -> Matrix:
    return rng.integers(-2, 3, shape).astype(np.float64)


def _companion(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Companion matrices of polynomials: coefficients, multiples of 1/4, in the first row, ones below the
    diagonal. The last coefficient is not 0.
    """
    n = shape[-1]
    values = np.zeros(shape)
    values[..., range(1, n), range(n - 1)] = 1.0
    values[..., 0, :] = rng.integers(-6, 7, shape[:-1]) / 4
    values[..., 0, -1] = rng.integers(2, 9, shape[:-2]) * rng.choice([-0.25, 0.25], shape[:-2])
    return values


_FIXED: Mapping[str, Callable[[np.random.Generator, Shape], npt.NDArray[Any]]] = {
    "orthogonal": _orthogonal,
    "companion": _companion,
    "low rank": _low_rank,
    "singular": _singular,
    "zero line": _zero_line,
    "repeated": functools.partial(repeated, _integers),
    "near repeated": functools.partial(repeated, _integers, nearest=13),
}
"""Structures that fix the whole matrix: no condition number, no scale."""


def _scale(kind: str, size: float, precision: Precision) -> float:
    limits = FORMATS[precision]
    match kind:
        case "tiny":
            return math.ldexp(1.0, math.frexp(limits.normal)[1] // 3)
        case "huge":
            return math.ldexp(1.0, math.frexp(limits.largest)[1] // 3)
        case "denormal":
            return 4.0 * limits.normal * limits.eps
        case "scaled" if precision == "float16":
            return math.sqrt(math.sqrt(size))  # 2^20 is beyond its largest number
    return size


def _triangular(values: Matrix, kind: str, structure: Structure) -> Matrix:
    """Of triangles, those with the condition numbers of `values`, or with the largest entry on the diagonal;
    of other structures the values.
    """
    if 0 in values.shape or structure not in ("lower", "upper"):
        return values
    if kind == "spectrum":
        upper = np.linalg.qr(values)[1]
    else:
        diagonal = np.einsum("...ii->...i", values)
        diagonal += np.where(diagonal >= 0, 1.0, -1.0) * np.abs(values).max()
        upper = np.triu(values)
    return np.swapaxes(upper, -1, -2) if structure == "lower" else upper


def draw_matrix(
    dice: Dice,
    shape: tuple[int, ...],
    structure: Structure,
    precision: Precision = "float64",
    *,
    extremes: bool = True,
) -> npt.NDArray[Any]:
    """One array of matrices. One draw decides the kind, another the numbers."""
    kind, size = dice.weighted(_KINDS if extremes else _NEAR_ONE)
    rng = np.random.default_rng([dice.below(1 << 16), *shape])
    if structure in _FIXED:
        values = _FIXED[structure](rng, shape) if 0 not in shape else np.zeros(shape)
        return values.astype(precision)
    if kind == "spectrum":
        values = _spectrum(rng, shape, size, structure=structure)
    else:
        values = _quarters(rng, shape)
        if structure == "spd":
            values = values @ np.swapaxes(values, -1, -2)
        elif structure == "symmetric":
            values = values + np.swapaxes(values, -1, -2)
    values = _triangular(values, kind, structure)
    if kind != "spectrum":
        values = values * _scale(kind, size, precision)
    return values.astype(precision)


@st.composite
def matrices(
    draw: Draw,
    shape: Shape | None = None,
    *,
    structure: Structure = "general",
    precision: Precision = "float64",
    min_condition: float | None = None,
    max_condition: float | None = None,
    extremes: bool = True,
) -> npt.NDArray[Any]:
    """Stacks of matrices of `shape` (None: any fitting one), with a structure, exact in `precision`.

    general         any, also rectangular
    spd, symmetric, lower, upper, orthogonal, companion
                    invertible, except for rounding at condition numbers near 1/eps
    low rank        of rank 1 and more, where the sides allow; rectangular, too
    singular        integers of rank below the smaller side, drawn for each instance; rectangular, too
    zero line       a row or a column of zeros; rectangular, too
    repeated        symmetric integers with an eigenvalue of multiplicity n - 1 or n
    near repeated   the same, with the eigenvalues separated by a small power of two

    The first five have condition numbers from 1 to 1e12, mostly small. With `extremes` their sizes are rarely
    as small as the dtype's denormal numbers or as large as the cube root of its largest. With `min_condition`
    or `max_condition` they have sizes near 1, and the condition number of every matrix (the largest singular
    value over the smallest) lies between the two, up to the rounding of the entries.

    Shrinks towards small multiples of 1/4 with a heavy diagonal, with bounds towards the smallest condition
    number.
    """
    if structure not in STRUCTURES:
        reject(f"structure={structure!r}: one of {', '.join(map(repr, STRUCTURES))}")
    check_precision(precision)
    check_numbers(min_condition=min_condition, max_condition=max_condition)
    dice = Dice(draw)
    chosen = _shape(dice, structure, least=1 if min_condition is None else 2) if shape is None else shape
    check_shape(chosen, axes=2)
    if structure not in RECTANGULAR and chosen[-1] != chosen[-2]:
        reject(f"shape={shape!r} with structure={structure!r}: such matrices are square")
    if min_condition is None and max_condition is None:
        return shown(draw_matrix(dice, chosen, structure, precision, extremes=extremes))
    return shown(_conditioned(dice, chosen, structure, precision, min_condition, max_condition))


def _shape(dice: Dice, structure: Structure, *, least: int) -> Shape:
    batch = draw_batch(dice)
    aspect: Aspect = dice.pick(("square", "tall", "wide")) if structure in RECTANGULAR else "square"
    return (*batch, *draw_size(dice, aspect, 4, batch, least=least))


def _conditioned(
    dice: Dice,
    shape: Shape,
    structure: Structure,
    precision: Precision,
    least: float | None,
    most: float | None,
) -> npt.NDArray[Any]:
    """Condition numbers from `least` (None: 1) to `most` (None: the largest that is safely not singular)."""
    told = f"min_condition={least!r}, max_condition={most!r}"
    if structure in _FIXED:
        known = ", ".join(repr(s) for s in STRUCTURES if s not in _FIXED)
        reject(f"{told} with structure={structure!r}: condition numbers can be chosen for {known}")
    limit = 1.0 / (16.0 * FORMATS[precision].eps)
    low = 1.0 if least is None else least
    high = max(low, limit) if most is None else most
    if not 1.0 <= low <= high:
        reject(f"{told}: 1 <= min_condition <= max_condition must hold")
    if (most is None and low > limit) or high > max(limit, 1.0):
        reject(f"{told} with precision={precision!r}: rounding allows condition numbers up to {limit:.3g}")
    if low > 1.0 and min(shape[-2:]) == 1:
        reject(f"{told} with shape={shape!r}: a matrix of one row or column has the condition number 1")
    condition = low * (high / low) ** (dice.below(_SHARES) / (_SHARES - 1))
    rng = np.random.default_rng([dice.below(1 << 16), *shape])
    values = _spectrum(rng, shape, condition, structure=structure, exact=True)
    return _triangular(values, "spectrum", structure).astype(precision)


_SHARES = 257
"""The range of condition numbers has this many steps, even in the exponent."""

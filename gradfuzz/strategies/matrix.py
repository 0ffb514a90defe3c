"""Matrices with a structure, a spectrum and a condition number, exact in their dtype."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from gradfuzz.programs.precision import FORMATS
from gradfuzz.strategies.dice import Dice, Draw, Table, named
from gradfuzz.strategies.point import Precision

__all__ = ["STRUCTURES", "Structure", "draw_matrix", "matrices"]

Structure = Literal["general", "spd", "symmetric", "lower", "upper", "singular", "repeated"]
STRUCTURES: tuple[Structure, ...] = get_args(Structure)

Matrix = npt.NDArray[np.float64]

_KINDS: Table[tuple[str, float]] = Table(
    (30, ("quarters", 1.0)),
    (25, ("spectrum", 4.0)),
    (12, ("spectrum", 1e2)),
    (5, ("spectrum", 1e4)),
    (2, ("spectrum", 1e8)),
    (1, ("spectrum", 1e12)),
    (4, ("scaled", 2.0**-20)),
    (4, ("scaled", 2.0**20)),
)
"""Small multiples of 1/4 with a heavy diagonal; given condition numbers; the first kind, far from 1 in size."""


def _quarters(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Multiples of 1/4, all different in a row, with a heavy main diagonal: condition numbers of a few."""
    values: Matrix = rng.integers(-6, 7, shape) / 4
    k = min(shape[-2:])
    values[..., range(k), range(k)] += np.arange(3, 3 + k)
    return values


def _orthogonal(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    return np.linalg.qr(rng.normal(size=(*shape, shape[-1])))[0] if 0 not in shape else np.zeros((*shape, shape[-1]))


def _spectrum(rng: np.random.Generator, shape: tuple[int, ...], condition: float, *, symmetric: bool, signed: bool) -> Matrix:
    """Singular values (eigenvalues, where `symmetric`) spread evenly in the exponent from 1 to 1/condition, times numbers near 1."""
    *batch, m, n = shape
    k = min(m, n)
    steps = np.linspace(0.0, 1.0, k) if k > 1 else np.zeros(k)
    values = condition**-steps * rng.uniform(1.0, 1.25, (*batch, k))
    if signed:
        values = values * rng.choice([-1.0, 1.0], (*batch, k))
    left = _orthogonal(rng, (*batch, m))[..., :k]
    right = left if symmetric else _orthogonal(rng, (*batch, n))[..., :k]
    result: Matrix = (left * values[..., np.newaxis, :]) @ np.swapaxes(right, -1, -2)
    return (result + np.swapaxes(result, -1, -2)) / 2 if symmetric else result


def _singular(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Integers, of rank below the smaller side: a product of two thin integer matrices, so the determinant is exactly 0."""
    *batch, m, n = shape
    rank = max(0, min(m, n) - 1 - int(rng.integers(0, 2)))
    product: Matrix = (rng.integers(-2, 3, (*batch, m, rank)) @ rng.integers(-2, 3, (*batch, rank, n))).astype(np.float64)
    return product


def _repeated(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Symmetric, exact, with an eigenvalue of multiplicity n - 1: c I + v v^T for integers, or c I."""
    n = shape[-1]
    v = rng.integers(-2, 3, (*shape[:-1], 1)).astype(np.float64)
    base = np.eye(n) * rng.integers(1, 4)
    result: Matrix = base + v @ np.swapaxes(v, -1, -2)
    return result


def draw_matrix(dice: Dice, shape: tuple[int, ...], structure: Structure, precision: Precision = "float64") -> npt.NDArray[Any]:
    """One array of matrices. One draw says what kind, one which."""
    kind, size = dice.weighted(_KINDS)
    rng = np.random.default_rng([dice.below(1 << 16), *shape])
    if structure == "singular":
        values = _singular(rng, shape)
    elif structure == "repeated":
        values = _repeated(rng, shape)
    elif kind == "spectrum":
        values = _spectrum(rng, shape, size, symmetric=structure in ("spd", "symmetric"), signed=structure == "symmetric")
    else:
        values = _quarters(rng, shape)
        if structure == "spd":
            values = values @ np.swapaxes(values, -1, -2)
        elif structure == "symmetric":
            values = values + np.swapaxes(values, -1, -2)
        values = values * (size if kind == "scaled" else 1.0)
    if structure in ("lower", "upper"):
        n = shape[-1]
        values[..., range(n), range(n)] += np.where(values[..., range(n), range(n)] >= 0, 1.0, -1.0) * max(
            1.0, float(np.abs(values).max(initial=0.0))
        )
        values = np.tril(values) if structure == "lower" else np.triu(values)
    return values.astype(precision)


@st.composite
@named("matrices")
def _matrices(draw: Draw, shape: tuple[int, ...], *, structure: Structure, precision: Precision) -> npt.NDArray[Any]:
    return draw_matrix(Dice(draw), shape, structure, precision)


def matrices(
    shape: tuple[int, ...], *, structure: Structure = "general", precision: Precision = "float64"
) -> st.SearchStrategy[npt.NDArray[Any]]:
    """Stacks of matrices of `shape`, exact in `precision`.

    structure "general": condition numbers from 1 to 1e12, mostly small; "spd" symmetric positive definite; "symmetric"; "lower" and "upper"
    triangular, invertible; "singular": integers of lower rank; "repeated": symmetric with a repeated eigenvalue. Shrinks towards small
    multiples of 1/4 with a heavy diagonal.
    """
    if structure not in STRUCTURES:
        raise InvalidArgument(f"structure={structure!r}: one of {', '.join(map(repr, STRUCTURES))}")
    if len(shape) < 2 or any(n < 0 for n in shape):
        raise InvalidArgument(f"shape={shape!r}: two axes or more, none below 0")
    if structure != "general" and structure != "singular" and shape[-1] != shape[-2]:
        raise InvalidArgument(f"shape={shape!r} with structure={structure!r}: such matrices are square")
    if precision not in FORMATS:
        raise InvalidArgument(f"precision={precision!r}: one of {', '.join(map(repr, FORMATS))}")
    return _matrices(shape, structure=structure, precision=precision)

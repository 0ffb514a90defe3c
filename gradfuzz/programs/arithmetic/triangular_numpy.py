"""Triangular systems on NumPy arrays, by substitution: each unknown errs by a few roundings of its own size,
and zeros stay zeros.

A stack of small matrices is solved row by row, all matrices at once. Its arrays have the batch as their last
axis, (n, n, batch), so that NumPy's loops run along it. Large matrices are solved by LAPACK.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LARGE = 16
"""From this size on, a matrix at a time costs less than all at once."""

_FEW = 8
"""Also in a batch of at most n / 8 matrices."""


def batch_last(x: Any) -> Any:
    """Matrices (..., m, n) as a contiguous array (m, n, batch); a copy only where they do not lie so."""
    *batch, m, n = x.shape
    return np.ascontiguousarray(x.reshape(math.prod(batch), m, n).transpose(1, 2, 0))


def batch_first(x: Any, batch: tuple[int, ...]) -> Any:
    """The other way round."""
    return x.transpose(2, 0, 1).reshape(*batch, *x.shape[:2])


def _substitute(triangle: Any, x: Any, lower: bool, unit_diagonal: bool = False) -> None:
    """Overwrites the right sides x (n, k, batch) with the solutions. Reads only the triangle (n, n, batch)
    that `lower` names.
    """
    n = len(triangle)
    with np.errstate(all="ignore"):
        for k in range(n) if lower else reversed(range(n)):
            rest = slice(k + 1, n) if lower else slice(0, k)
            if not unit_diagonal:
                x[k] /= triangle[k, k]
            x[rest] -= triangle[rest, k, np.newaxis] * x[k]


def triangular_solve(
    a: Any, b: Any, *, lower: bool, transposed: bool, unit_diagonal: bool, left: bool
) -> Any:
    """The op. What multiplies from the right is solved transposed."""
    if transposed is left:
        a, lower = np.swapaxes(a, -1, -2), not lower
    if not left:
        return np.swapaxes(_solved(a, np.swapaxes(b, -1, -2), lower, unit_diagonal), -1, -2)
    return _solved(a, b, lower, unit_diagonal)


def _solved(triangle: Any, b: Any, lower: bool, unit_diagonal: bool) -> Any:
    batch, n = b.shape[:-2], triangle.shape[-1]
    if batch != triangle.shape[:-2]:
        batch = np.broadcast_shapes(batch, triangle.shape[:-2])
        triangle = np.broadcast_to(triangle, (*batch, n, n))
        b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    if b.size and (n >= _LARGE or math.prod(batch) <= n // _FEW) and _regular(triangle):
        from scipy.linalg import solve_triangular

        return solve_triangular(triangle, b, lower=lower, unit_diagonal=unit_diagonal, check_finite=False)
    x = np.array(batch_last(b))
    _substitute(batch_last(triangle), x, lower, unit_diagonal)
    return batch_first(x, batch)


def _regular(triangle: Any) -> bool:
    """Whether all entries are finite, and no diagonal has a zero."""
    return bool(np.isfinite(triangle).all() and np.einsum("...ii->...i", triangle).all())

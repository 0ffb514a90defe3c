"""Triangular systems on NumPy arrays, by substitution: each unknown errs by a few roundings of its own size,
and zeros stay zeros.

A stack of small matrices is solved row by row, all matrices at once. Its arrays have the batch as their last
axis, (n, n, batch), so that NumPy's loops run along it. A large matrix is solved by blocks: BLAS solves those
on the diagonal, and products carry the solution on. OpenBLAS has fast products and slow triangular systems.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

LARGE = 16
"""From this size on, a matrix at a time costs less than all at once."""

_FEW = 8
"""So it does for a batch of at most as many as an eighth of their size."""

_BLOCK = 64
"""Rows that BLAS is given at once."""


def batch_last(x: Any) -> Any:
    """Matrices (..., m, n) as a contiguous array (m, n, batch); a copy only where they do not lie so."""
    *batch, m, n = x.shape
    return np.ascontiguousarray(x.reshape(math.prod(batch), m, n).transpose(1, 2, 0))


def batch_first(x: Any, batch: tuple[int, ...]) -> Any:
    """The other way round."""
    return x.transpose(2, 0, 1).reshape(*batch, *x.shape[:2])


@functools.lru_cache(maxsize=64)
def _triangle(m: int, n: int, k: int, lower: bool) -> Any:
    """Where the triangle of an (m, n) matrix is."""
    return np.tri(m, n, k, dtype=bool) if lower else ~np.tri(m, n, k - 1, dtype=bool)


def tril(x: Any, *, k: int) -> Any:
    return np.where(_triangle(*x.shape[-2:], k, True), x, x.dtype.type(0))


def triu(x: Any, *, k: int) -> Any:
    return np.where(_triangle(*x.shape[-2:], k, False), x, x.dtype.type(0))


def substitute(triangle: Any, x: Any, lower: bool, unit_diagonal: bool = False) -> None:
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


def substitute_by_blocks(triangle: Any, x: Any, lower: bool, unit_diagonal: bool = False) -> None:
    """The same for one regular matrix of finite numbers, and x of shape (n, k) with its rows one after the
    other in memory.
    """
    n = len(triangle)
    if n <= _BLOCK:  # what has rows in NumPy has columns in BLAS: it solves the transposed system
        solve = _blas(x.dtype.char)
        x[...] = solve(1.0, triangle.T, x.T, True, not lower, False, unit_diagonal, overwrite_b=True).T
        return
    halves = slice(0, n // 2), slice(n // 2, n)
    first, last = halves if lower else halves[::-1]
    substitute_by_blocks(triangle[first, first], x[first], lower, unit_diagonal)
    x[last] -= triangle[last, first] @ x[first]
    substitute_by_blocks(triangle[last, last], x[last], lower, unit_diagonal)


def invert_lower(triangle: Any, x: Any) -> None:
    """Overwrites x, which is the identity, with the inverse of a lower triangle. What is zero is not
    computed.
    """
    n = len(triangle)
    if n <= _BLOCK:
        substitute_by_blocks(triangle, x, lower=True)
        return
    first, last = slice(0, n // 2), slice(n // 2, n)
    invert_lower(triangle[first, first], x[first, first])
    invert_lower(triangle[last, last], x[last, last])
    x[last, first] = triangle[last, first] @ -x[first, first]
    substitute_by_blocks(triangle[last, last], x[last, first], lower=True)


@functools.cache
def _blas(char: str) -> Any:
    from scipy.linalg import get_blas_funcs

    return get_blas_funcs("trsm", dtype=np.dtype(char))


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
    if b.size and (n >= LARGE or math.prod(batch) <= n // _FEW) and _regular(triangle):
        x = np.array(b, order="C")
        for place in np.ndindex(*batch):
            substitute_by_blocks(triangle[place], x[place], lower, unit_diagonal)
        return x
    x = np.array(batch_last(b))
    substitute(batch_last(triangle), x, lower, unit_diagonal)
    return batch_first(x, batch)


def _regular(triangle: Any) -> bool:
    """Whether all entries are finite, and no diagonal has a zero."""
    return bool(np.isfinite(triangle).all() and np.einsum("...ii->...i", triangle).all())

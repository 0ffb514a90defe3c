"""qr, lu and cholesky on stacks of matrices, by NumPy and SciPy, also of no matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.per_matrix import each, real_dtype


def qr(x: Any, *, mode: Any) -> tuple[Any, Any]:
    *batch, m, n = x.shape
    if x.size == 0:  # NumPy has no batch of none
        k = min(m, n) if mode == "reduced" else m
        return np.broadcast_to(np.eye(m, k, dtype=x.dtype), (*batch, m, k)), np.zeros((*batch, k, n), x.dtype)
    q, r = np.linalg.qr(x, mode)
    return q, r


def lu(x: Any) -> tuple[Any, Any, Any]:
    """P (..., m, m), L (..., m, k) and U (..., k, n) of matrices (..., m, n), k = min(m, n)."""
    from scipy.linalg import lu as found

    *batch, m, n = x.shape
    if not x.size:  # SciPy loses the shapes
        k = min(m, n)
        eye = np.broadcast_to(np.eye(m, dtype=x.real.dtype), (*batch, m, m))
        return eye, np.zeros((*batch, m, k), x.dtype), np.zeros((*batch, k, n), x.dtype)
    p, lower, upper = found(x, check_finite=False)
    return p.real, lower, upper


def hermitian(x: Any) -> Any:
    """(x + x^H) / 2: what `cholesky` and `eigh` are functions of, so that they have a derivative along every
    direction.
    """
    twice = x + np.swapaxes(x, -1, -2).conj()
    twice /= real_dtype(x).type(2)
    return twice


def cholesky(x: Any, *, upper: bool) -> Any:
    return each(lambda a: np.linalg.cholesky(a, upper=upper), hermitian(x))

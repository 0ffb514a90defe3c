"""qr and cholesky on NumPy arrays, large matrices by LAPACK one by one.

NumPy's own functions copy each matrix to and fro. What has rows in NumPy has columns in LAPACK: the results
here are views that are transposed in memory where that saves a copy.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.per_matrix import each, not_a_number, real_dtype
from gradfuzz.programs.arithmetic.triangular_numpy import LARGE, tril, triu

_LARGE_FOR_QR = 32
_BLOCK = 64
"""Columns that LAPACK's `geqrf` and `orgqr` are given work space for at once."""


@functools.cache
def _lapack(char: str) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(("geqrf", "orgqr", "potrf"), dtype=np.dtype(char))


def qr(x: Any, *, mode: Any) -> tuple[Any, Any]:
    *batch, m, n = x.shape
    k = min(m, n)
    if x.size == 0:  # NumPy has no batch of none
        k = k if mode == "reduced" else m
        return np.broadcast_to(np.eye(m, k, dtype=x.dtype), (*batch, m, k)), np.zeros((*batch, k, n), x.dtype)
    if k < _LARGE_FOR_QR or (mode == "complete" and m > n):
        q, r = np.linalg.qr(x, mode)
        return q, r
    geqrf, orgqr, _ = _lapack(x.dtype.char)
    columns, r = np.empty((*batch, k, m), x.dtype), np.empty((*batch, k, n), x.dtype)
    for place in np.ndindex(*batch):
        reflectors, sizes, *_ = geqrf(x[place], lwork=_BLOCK * n)
        r[place] = reflectors[:k]
        found, *_ = orgqr(reflectors[:, :k], sizes, lwork=_BLOCK * k, overwrite_a=True)
        columns[place] = found.T
    return np.swapaxes(columns, -1, -2), triu(r, k=0)


def hermitian(x: Any) -> Any:
    """(x + x^H) / 2: what `cholesky` and `eigh` are functions of, so that they have a derivative along every
    direction.
    """
    twice = x + np.swapaxes(x, -1, -2).conj()
    twice /= real_dtype(x).type(2)
    return twice


def cholesky(x: Any, *, upper: bool) -> Any:
    if x.shape[-1] < LARGE or x.size == 0:
        return each(lambda a: np.linalg.cholesky(a, upper=upper), hermitian(x))
    _, _, potrf = _lapack(x.dtype.char)
    factors, failed = hermitian(x), np.zeros(x.shape[:-2], bool)
    for place in np.ndindex(*x.shape[:-2]):
        found, status = potrf(factors[place].T, lower=upper, clean=False, overwrite_a=True)
        factors[place], failed[place] = found.T, status > 0
    result = triu(factors, k=0) if upper else tril(factors, k=0)
    result[failed] = not_a_number(x.dtype)
    return result

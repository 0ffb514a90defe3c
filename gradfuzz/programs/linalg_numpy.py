"""Linear algebra on float32 and float64 arrays, by NumPy and SciPy, with every leading axis a batch axis.

Nothing raises: where LAPACK gives up on a matrix (a singular one, one that is not positive definite, NaN entries), the result for that
matrix of the batch is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.programs.linalg_internal import cofactor, divide_by_gaps

__all__ = ["LinalgNumpy"]

_INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def _order(order: Any) -> Any:
    return _INFINITIES.get(order, order)


def _each(f: Callable[..., Any], *arrays: Any) -> Any:
    """`f` of arrays of matrices; where it fails for one matrix of a batch, that one's result is NaN."""
    try:
        return f(*arrays)
    except np.linalg.LinAlgError:
        pass
    batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    spread = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
    model = f(*[np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape[-2:]) for a in arrays])
    several = isinstance(model, tuple)
    results = [np.full((*batch, *m.shape), np.nan, m.dtype) for m in (model if several else (model,))]
    for place in np.ndindex(*batch):
        try:
            found = f(*[a[place] for a in spread])
        except np.linalg.LinAlgError:
            continue
        for result, entry in zip(results, found if several else (found,), strict=True):
            result[place] = entry
    return tuple(results) if several else results[0]


def symmetric(x: Any) -> Any:
    """(x + x^T) / 2: what `cholesky` and `eigh` are functions of, so that they have a derivative along every direction."""
    return (x + np.swapaxes(x, -1, -2)) / x.dtype.type(2)


class LinalgNumpy:
    """The linear-algebra ops. Those with several results return them all, as tuples."""

    # Decompositions

    def qr(self, x: Any, *, mode: Any) -> tuple[Any, Any]:
        if x.size == 0:  # NumPy has no batch of none
            m, n = x.shape[-2:]
            k = min(m, n) if mode == "reduced" else m
            q = np.broadcast_to(np.eye(m, k, dtype=x.dtype), (*x.shape[:-2], m, k))
            return q, np.zeros((*x.shape[:-2], k, n), x.dtype)
        q, r = np.linalg.qr(x, mode)
        return q, r

    def lu(self, x: Any) -> tuple[Any, Any, Any]:
        """x = p l u with row pivoting, as LAPACK does it."""
        import scipy.linalg

        if x.size == 0:  # SciPy's shapes are wrong for a batch of none
            *batch, m, n = x.shape
            k = min(m, n)
            p = np.broadcast_to(np.eye(m, dtype=x.dtype), (*batch, m, m))
            return p, p[..., :k], np.zeros((*batch, k, n), x.dtype)
        p, lower, upper = scipy.linalg.lu(x)
        return p.astype(x.dtype), lower, upper

    def svd(self, x: Any, *, full_matrices: bool) -> tuple[Any, Any, Any]:
        return _each(lambda a: tuple(np.linalg.svd(a, full_matrices)), x)  # type: ignore[no-any-return]

    def svdvals(self, x: Any) -> Any:
        return _each(lambda a: np.linalg.svd(a, compute_uv=False), x)

    def eigh(self, x: Any) -> tuple[Any, Any]:
        return _each(lambda a: tuple(np.linalg.eigh(a)), symmetric(x))  # type: ignore[no-any-return]

    def eigvalsh(self, x: Any) -> Any:
        return _each(np.linalg.eigvalsh, symmetric(x))

    def cholesky(self, x: Any, *, upper: bool) -> Any:
        return _each(lambda a: np.linalg.cholesky(a, upper=upper), symmetric(x))

    # Solving

    def solve(self, a: Any, b: Any) -> Any:
        column = b.ndim == 1
        x = _each(np.linalg.solve, a, b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    def triangular_solve(self, a: Any, b: Any, *, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
        triangle = np.tril(a) if lower else np.triu(a)
        if unit_diagonal:
            np.einsum("...ii->...i", triangle)[...] = 1
        if transposed:
            triangle = np.swapaxes(triangle, -1, -2)
        if left:
            return _each(np.linalg.solve, triangle, b)
        return np.swapaxes(_each(np.linalg.solve, np.swapaxes(triangle, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)

    def inv(self, x: Any) -> Any:
        return _each(np.linalg.inv, x)

    def pinv(self, x: Any) -> Any:
        if x.size == 0:
            return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
        return _each(np.linalg.pinv, x)

    def lstsq(self, a: Any, b: Any) -> Any:
        column = b.ndim == 1
        x = np.matmul(self.pinv(a), b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    # Determinants, norms, powers

    def det(self, x: Any) -> Any:
        return np.linalg.det(x)

    def slogdet(self, x: Any) -> tuple[Any, Any]:
        sign, logabsdet = np.linalg.slogdet(x)
        return sign, logabsdet

    def matrix_norm(self, x: Any, *, ord: Any, keepdims: bool) -> Any:
        if 0 in x.shape[-2:]:
            return np.zeros((*x.shape[:-2], 1, 1) if keepdims else x.shape[:-2], x.dtype)[()]
        return _each(lambda a: np.linalg.matrix_norm(a, ord=_order(ord), keepdims=keepdims), x)

    def vector_norm(self, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
        return np.linalg.vector_norm(x, ord=_order(ord), axis=axis, keepdims=keepdims).astype(x.dtype)[()]

    def matrix_power(self, x: Any, *, n: int) -> Any:
        return _each(lambda a: np.linalg.matrix_power(a, n), x)

    def expm(self, x: Any) -> Any:
        import scipy.linalg

        return scipy.linalg.expm(x) if x.size else x

    # Diagonals, triangles, products

    def trace(self, x: Any, *, offset: int) -> Any:
        return np.trace(x, offset, -2, -1)[()]

    def diagonal(self, x: Any, *, offset: int) -> Any:
        return np.diagonal(x, offset, -2, -1)

    def tril(self, x: Any, *, k: int) -> Any:
        return np.tril(x, k)

    def triu(self, x: Any, *, k: int) -> Any:
        return np.triu(x, k)

    def outer(self, a: Any, b: Any) -> Any:
        return np.multiply.outer(a, b)

    def kron(self, a: Any, b: Any) -> Any:
        product = a[..., :, np.newaxis, :, np.newaxis] * b[..., np.newaxis, :, np.newaxis, :]
        *batch, m, p, n, q = product.shape
        return product.reshape(*batch, m * p, n * q)

    def einsum(self, *arrays: Any, subscripts: str) -> Any:
        return np.einsum(subscripts, *arrays)

    # Parts of derivatives

    cofactor = staticmethod(cofactor)
    divide_by_gaps = staticmethod(divide_by_gaps)

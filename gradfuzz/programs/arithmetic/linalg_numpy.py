"""Linear algebra on arrays of float32, float64, complex64 and complex128, by NumPy and SciPy, with every
leading axis a batch axis.

Nothing raises: where LAPACK gives up on a matrix (a singular one, one that is not positive definite, NaN
entries), the result for that matrix of the batch is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.linalg_internal import cofactor, divide_by_gaps, not_a_number, real_dtype
from gradfuzz.programs.arithmetic.tensor_numpy import methods

_INFINITIES = {"inf": math.inf, "-inf": -math.inf}

_FEW = 8
"""BLAS takes one matrix at a time: it is for batches of at most as many as an eighth of their size."""

_REACH = 5.371920351148152
"""theta_13 of Higham 2005, table 2.3: up to it the approximant of degree 13 is right to the last bit."""

_MOST_SQUARINGS = 1100
_PADE = tuple(float(math.perm(26 - k, 13) // math.factorial(k)) for k in range(14))
"""(26 - k)! / ((13 - k)! k!): the coefficients of the numerator."""


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
    results = [np.full((*batch, *m.shape), not_a_number(m.dtype)) for m in (model if several else (model,))]
    for place in np.ndindex(*batch):
        try:
            found = f(*[a[place] for a in spread])
        except np.linalg.LinAlgError:
            continue
        for result, entry in zip(results, found if several else (found,), strict=True):
            result[place] = entry
    return tuple(results) if several else results[0]


def _substituted(triangle: Any, b: Any, lower: bool) -> Any:
    """The solution of a triangular system, by substitution: zeros stay zeros, and each unknown errs by a few
    roundings of its own size.
    """
    batch = np.broadcast_shapes(triangle.shape[:-2], b.shape[:-2])
    n = triangle.shape[-1]
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    with np.errstate(all="ignore"):
        for k in range(n) if lower else reversed(range(n)):
            done = slice(0, k) if lower else slice(k + 1, n)
            row = triangle[..., k : k + 1, done] @ x[..., done, :]
            x[..., k : k + 1, :] = (x[..., k : k + 1, :] - row) / triangle[..., k : k + 1, k : k + 1]
    return x


def _by_blas(
    a: Any, b: Any, batch: tuple[int, ...], lower: bool, transposed: bool, unit_diagonal: bool, left: bool
) -> Any:
    """The same for a few large ones. What has rows in NumPy has columns in BLAS: it solves the transposed
    system, and copies nothing.
    """
    from scipy.linalg import get_blas_funcs

    (solve,) = get_blas_funcs(("trsm",), (a, b))
    a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    x = np.empty(b.shape, b.dtype)
    for place in np.ndindex(*batch):
        x[place] = solve(1.0, a[place].T, b[place].T, left, not lower, transposed, unit_diagonal).T
    return x


def hermitian(x: Any) -> Any:
    """(x + x^H) / 2: what `cholesky` and `eigh` are functions of, so that they have a derivative along every
    direction.
    """
    return (x + np.swapaxes(x, -1, -2).conj()) / real_dtype(x).type(2)


def _complex(x: Any) -> Any:
    return x.astype(np.result_type(x, np.complex64), copy=False)


def _times_power_of_two(x: Any, exponents: Any) -> Any:
    """x 2^exponents, also where that power would underflow."""
    if x.dtype.kind != "c":
        return np.ldexp(x, exponents)
    result = np.empty_like(x)
    result.real, result.imag = np.ldexp(x.real, exponents), np.ldexp(x.imag, exponents)
    return result


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
            p = np.broadcast_to(np.eye(m, dtype=real_dtype(x)), (*batch, m, m))
            return p, p[..., :k].astype(x.dtype), np.zeros((*batch, k, n), x.dtype)
        p, lower, upper = scipy.linalg.lu(x)
        return np.real(p).astype(real_dtype(x)), lower, upper

    def svd(self, x: Any, *, full_matrices: bool) -> tuple[Any, Any, Any]:
        return _each(lambda a: tuple(np.linalg.svd(a, full_matrices)), x)  # type: ignore[no-any-return]

    def svdvals(self, x: Any) -> Any:
        return _each(lambda a: np.linalg.svd(a, compute_uv=False), x)

    def eigh(self, x: Any) -> tuple[Any, Any]:
        return _each(lambda a: tuple(np.linalg.eigh(a)), hermitian(x))  # type: ignore[no-any-return]

    def eigvalsh(self, x: Any) -> Any:
        return _each(np.linalg.eigvalsh, hermitian(x))

    def eig(self, x: Any) -> tuple[Any, Any]:
        """Complex results, also where all are real; the eigenvectors are columns of length 1, their largest
        entry real.
        """
        return _each(lambda a: tuple(_complex(part) for part in np.linalg.eig(a)), x)  # type: ignore[no-any-return]

    def eigvals(self, x: Any) -> Any:
        return _each(lambda a: _complex(np.linalg.eigvals(a)), x)

    def cholesky(self, x: Any, *, upper: bool) -> Any:
        return _each(lambda a: np.linalg.cholesky(a, upper=upper), hermitian(x))

    # Solving

    def solve(self, a: Any, b: Any) -> Any:
        column = b.ndim == 1
        x = _each(np.linalg.solve, a, b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    def triangular_solve(
        self, a: Any, b: Any, *, lower: bool, transposed: bool, unit_diagonal: bool, left: bool
    ) -> Any:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        few = b.size > 0 and math.prod(batch) <= a.shape[-1] // _FEW
        if few and np.isfinite(a).all() and np.einsum("...ii->...i", a).all():
            return _by_blas(a, b, batch, lower, transposed, unit_diagonal, left)
        triangle, lower = (np.tril(a) if lower else np.triu(a)), lower is not transposed
        if unit_diagonal:
            np.einsum("...ii->...i", triangle)[...] = 1
        if transposed:
            triangle = np.swapaxes(triangle, -1, -2)
        if left:
            return _substituted(triangle, b, lower)
        turned, right = np.swapaxes(triangle, -1, -2), np.swapaxes(b, -1, -2)
        return np.swapaxes(_substituted(turned, right, not lower), -1, -2)

    def inv(self, x: Any) -> Any:
        return _each(np.linalg.inv, x)

    def pinv(self, x: Any) -> Any:
        if x.size == 0:
            return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
        return _each(lambda a: np.linalg.pinv(a, rcond=np.finfo(a.dtype).eps * max(a.shape[-2:])), x)

    def lstsq(self, a: Any, b: Any) -> Any:
        column = b.ndim == 1
        x = np.matmul(self.pinv(a), b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    # Determinants, norms, powers

    det = staticmethod(np.linalg.det)

    def slogdet(self, x: Any) -> tuple[Any, Any]:
        sign, logabsdet = np.linalg.slogdet(x)
        return sign, logabsdet

    def matrix_norm(self, x: Any, *, ord: Any, keepdims: bool) -> Any:
        if 0 in x.shape[-2:]:
            return np.zeros((*x.shape[:-2], 1, 1) if keepdims else x.shape[:-2], real_dtype(x))[()]
        return _each(lambda a: np.linalg.matrix_norm(a, ord=_order(ord), keepdims=keepdims), x)

    def vector_norm(self, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
        norms = np.linalg.vector_norm(x, ord=_order(ord), axis=axis, keepdims=keepdims)
        return norms.astype(real_dtype(x))[()]

    def matrix_power(self, x: Any, *, n: int) -> Any:
        return _each(lambda a: np.linalg.matrix_power(a, n), x)

    def expm(self, x: Any) -> Any:
        """By the Pade approximant of degree 13, scaling and squaring (Higham 2005). SciPy 1.17's loses three
        digits beyond norms of 4.
        """
        if x.size == 0:
            return x
        norms = np.abs(x).sum(-2).max(-1)
        with np.errstate(all="ignore"):
            squarings = np.ceil(np.log2(norms / _REACH))
        squarings = np.where(np.isfinite(squarings), np.clip(squarings, 0, _MOST_SQUARINGS), 0)
        squarings = squarings.astype(int)[..., np.newaxis, np.newaxis]
        a = _times_power_of_two(x, -squarings)
        one, a2 = np.eye(x.shape[-1], dtype=x.dtype), a @ a
        a4 = a2 @ a2
        a6 = a4 @ a2
        c = [real_dtype(x).type(n) for n in _PADE]
        odd = a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one
        odd = a @ odd
        even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
        result = _each(np.linalg.solve, even - odd, even + odd)
        for k in range(int(squarings.max(initial=0))):
            result = np.where(squarings > k, result @ result, result)
        return result

    # Diagonals, triangles, products

    def trace(self, x: Any, *, offset: int) -> Any:
        return np.trace(x, offset, -2, -1)[()]

    def diagonal(self, x: Any, *, offset: int) -> Any:
        return np.diagonal(x, offset, -2, -1)

    tril, triu, outer = methods(np.tril, np.triu, np.multiply.outer)

    def kron(self, a: Any, b: Any) -> Any:
        product = a[..., :, np.newaxis, :, np.newaxis] * b[..., np.newaxis, :, np.newaxis, :]
        *batch, m, p, n, q = product.shape
        return product.reshape(*batch, m * p, n * q)

    def einsum(self, *arrays: Any, subscripts: str) -> Any:
        return np.einsum(subscripts, *arrays)

    # Parts of derivatives

    cofactor = staticmethod(cofactor)
    divide_by_gaps = staticmethod(divide_by_gaps)

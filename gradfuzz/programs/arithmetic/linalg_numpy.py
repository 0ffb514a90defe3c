"""Linear algebra on arrays of float32, float64, complex64 and complex128, by NumPy and SciPy, with every
leading axis a batch axis.

Nothing raises: where LAPACK gives up on a matrix (a singular one, one that is not positive definite, NaN
entries), the result for that matrix of the batch is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.linalg_internal import cofactor, divide_by_gaps
from gradfuzz.programs.arithmetic.per_matrix import each, real_dtype
from gradfuzz.programs.arithmetic.tensor_numpy import methods
from gradfuzz.programs.arithmetic.triangular_numpy import triangular_solve

_INFINITIES = {"inf": math.inf, "-inf": -math.inf}

_REACH = 5.371920351148152
"""theta_13 of Higham 2005, table 2.3: up to it the approximant of degree 13 is right to the last bit."""

_MOST_SQUARINGS = 1100
_PADE = tuple(float(math.perm(26 - k, 13) // math.factorial(k)) for k in range(14))
"""(26 - k)! / ((13 - k)! k!): the coefficients of the numerator."""


def _order(order: Any) -> Any:
    return _INFINITIES.get(order, order)


def _complex(x: Any) -> Any:
    return x.astype(np.result_type(x, np.complex64), copy=False)


def _times_power_of_two(x: Any, exponents: Any) -> Any:
    """x 2^exponents, also where that power would underflow."""
    if x.dtype.kind != "c":
        return np.ldexp(x, exponents)
    result = np.empty_like(x)
    result.real, result.imag = np.ldexp(x.real, exponents), np.ldexp(x.imag, exponents)
    return result


def hermitian(x: Any) -> Any:
    """(x + x^H) / 2: what `cholesky` and `eigh` are functions of, so that they have a derivative along every
    direction.
    """
    twice = x + np.swapaxes(x, -1, -2).conj()
    twice /= real_dtype(x).type(2)
    return twice


class LinalgNumpy:
    """The linear-algebra ops. Those with several results return them all, as tuples."""

    # Decompositions

    def qr(self, x: Any, *, mode: Any) -> tuple[Any, Any]:
        *batch, m, n = x.shape
        if x.size == 0:  # NumPy has no batch of none
            k = min(m, n) if mode == "reduced" else m
            return np.broadcast_to(np.eye(m, k, dtype=x.dtype), (*batch, m, k)), np.zeros(
                (*batch, k, n), x.dtype
            )
        q, r = np.linalg.qr(x, mode)
        return q, r

    def lu(self, x: Any) -> tuple[Any, Any, Any]:
        """P (..., m, m), L (..., m, k) and U (..., k, n) of matrices (..., m, n), k = min(m, n)."""
        from scipy.linalg import lu as found

        *batch, m, n = x.shape
        if not x.size:  # SciPy loses the shapes
            k = min(m, n)
            eye = np.broadcast_to(np.eye(m, dtype=x.real.dtype), (*batch, m, m))
            return eye, np.zeros((*batch, m, k), x.dtype), np.zeros((*batch, k, n), x.dtype)
        p, lower, upper = found(x, check_finite=False)
        return p.real, lower, upper

    def cholesky(self, x: Any, *, upper: bool) -> Any:
        return each(lambda a: np.linalg.cholesky(a, upper=upper), hermitian(x))

    def svd(self, x: Any, *, full_matrices: bool) -> tuple[Any, Any, Any]:
        return each(lambda a: tuple(np.linalg.svd(a, full_matrices)), x)  # type: ignore[no-any-return]

    def svdvals(self, x: Any) -> Any:
        return each(lambda a: np.linalg.svd(a, compute_uv=False), x)

    def eigh(self, x: Any) -> tuple[Any, Any]:
        return each(lambda a: tuple(np.linalg.eigh(a)), hermitian(x))  # type: ignore[no-any-return]

    def eigvalsh(self, x: Any) -> Any:
        return each(np.linalg.eigvalsh, hermitian(x))

    def eig(self, x: Any) -> tuple[Any, Any]:
        """Complex results, also where all are real; the eigenvectors are columns of length 1, their largest
        entry real.
        """
        return each(lambda a: tuple(_complex(part) for part in np.linalg.eig(a)), x)  # type: ignore[no-any-return]

    def eigvals(self, x: Any) -> Any:
        return each(lambda a: _complex(np.linalg.eigvals(a)), x)

    # Solving

    def solve(self, a: Any, b: Any) -> Any:
        column = b.ndim == 1
        x = each(np.linalg.solve, a, b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    def inv(self, x: Any) -> Any:
        return each(np.linalg.inv, x)

    triangular_solve = staticmethod(triangular_solve)

    def pinv(self, x: Any) -> Any:
        if x.size == 0:
            return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
        return each(lambda a: np.linalg.pinv(a, rcond=np.finfo(a.dtype).eps * max(a.shape[-2:])), x)

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
            return np.zeros((*x.shape[:-2], 1, 1) if keepdims else x.shape[:-2], real_dtype(x))[()]
        return each(lambda a: np.linalg.matrix_norm(a, ord=_order(ord), keepdims=keepdims), x)

    def vector_norm(self, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
        norms = np.linalg.vector_norm(x, ord=_order(ord), axis=axis, keepdims=keepdims)
        return norms.astype(real_dtype(x))[()]

    def matrix_power(self, x: Any, *, n: int) -> Any:
        return each(lambda a: np.linalg.matrix_power(a, n), x)

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
        result = self.solve(even - odd, even + odd)
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

"""Linear-algebra ops in perturbed arithmetic: every lane is a matrix, perturbed before it is factored.

LAPACK does not promise results that are right entry by entry. It promises the exact result for a matrix
nearby (Higham, "Accuracy and stability of numerical algorithms", 2002), so its loss is measured by moving the
matrix that far before the call:

    by column    |dA_ij| <= eps |a_j|             qr (theorem 19.4); lu and all that is solved by it
                                                  (theorem 9.4, with |L| <= 1)
    by diagonal  |dA_ij| <= eps sqrt(a_ii a_jj)   cholesky (theorem 10.3)
    by norm      |dA_ij| <= eps |A|_F             the rest: eigh, svd and what is made of it, expm

Theory has a factor that grows with n; a sum of n^2 draws of size eps is a perturbation of about n eps, which
matches practice. The result is then perturbed like any other: entry by entry, and columns of length 1 by eps
each.

Lanes may differ in the signs of their vectors, complex ones in their phases, and in the order of eigenvalues
that have none. Neither is a result of rounding, so lanes are turned and ordered to agree with the exact lane.
Complex vectors are all turned once more: LAPACK makes an entry of each vector real, and with its phases some
sums are exactly 0 that with others are 0 only up to rounding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partialmethod
from typing import Any, cast

import numpy as np

from gradfuzz.errors import DomainError
from gradfuzz.fuzzer.tolerance.lanes import (
    MANY,
    Array,
    has_lanes,
    is_complex,
    lanes_first,
    lanes_last,
    of_exact,
    per_point,
)
from gradfuzz.programs.arithmetic.linalg_internal import GAP_UNITS
from gradfuzz.programs.arithmetic.linalg_numpy import LinalgNumpy, hermitian
from gradfuzz.programs.arithmetic.matrix_objects import aligned
from gradfuzz.programs.arithmetic.object_namespace import UndecidedError
from gradfuzz.programs.language.precision import FORMATS

_NUMPY = LinalgNumpy()

_NUMPY_RANK = 1e-15
"""NumPy's pinv takes singular values up to this share of the largest for 0."""


_UNCLEAR = 8.0
"""Gaps up to this many times the engine's rounding of 0 in the target's precision are unclear.

That is twice its epsilon, and as much again for other systems.
"""


class LinalgLanes:
    """A part of `PerturbedNamespace`."""

    # Perturbation

    def _draws_of(self: Any, x: Array) -> Array:
        return self._draws(x, self._product)

    def _by_norm(self: Any, x: Array) -> Array:
        return x + _lengths(x, (-3, -2)) * self._draws_of(x)

    def _by_column(self: Any, x: Array) -> Array:
        return x + _lengths(x, -3) * self._draws_of(x)

    def _by_diagonal(self: Any, x: Array) -> Array:
        sizes = np.sqrt(np.abs(np.einsum("...iil->...il", x)))
        return x + sizes[..., :, np.newaxis, :] * sizes[..., np.newaxis, :, :] * self._draws_of(x)

    def _lapack(self: Any, op: str, *arrays: Array, **params: Any) -> Any:
        """NumPy's result for every lane, lanes last again. A lane without a result is a domain error."""
        rank = max(x.ndim for x in arrays)
        fronted = [lanes_first(x).reshape(x.shape[-1], *[1] * (rank - x.ndim), *x.shape[:-1]) for x in arrays]
        with np.errstate(all="ignore"):
            found = getattr(_NUMPY, op)(*fronted, **params)
        results = found if isinstance(found, tuple) else (found,)
        if not all(np.isfinite(y).all() for y in results):
            raise DomainError(f"{op} has no result for this matrix, or for one that rounding may make of it")
        back = tuple(map(lanes_last, results))
        return back if isinstance(found, tuple) else back[0]

    def _rounded(self: Any, x: Array) -> Array:
        return self._result(x, self._product)

    def _of_nearby(self: Any, op: str, moved: Callable[..., Array], x: Array, **params: Any) -> Array:
        """The only result of an op for the matrix nearby."""
        return self._rounded(self._lapack(op, moved(self, x), **params))

    svdvals = partialmethod(_of_nearby, "svdvals", _by_norm)
    eigvalsh = partialmethod(_of_nearby, "eigvalsh", _by_norm)
    expm = partialmethod(_of_nearby, "expm", _by_norm)

    def inv(self: Any, x: Array) -> Array:
        found = self._of_nearby("inv", LinalgLanes._by_column, x)
        self._is_regular(x)
        return cast(Array, found)

    def cholesky(self: Any, x: Array, *, upper: bool) -> Array:
        found = self._of_nearby("cholesky", LinalgLanes._by_diagonal, x, upper=upper)
        matrices = hermitian(lanes_first(x))
        sizes = np.sqrt(np.abs(np.diagonal(matrices, axis1=-2, axis2=-1)))
        scaled = matrices / (sizes[..., :, np.newaxis] * sizes[..., np.newaxis, :])
        self._tells_from_zero(np.linalg.eigvalsh(scaled), "whether a matrix is positive definite")
        return cast(Array, found)

    def _is_regular(self: Any, x: Array) -> None:
        """Raises `UndecidedError` for matrices whose last pivot may be rounded to 0, however their rows and
        columns are scaled.
        """
        scaled = lanes_first(_of_length_1(_of_length_1(x, -2), -3))
        self._tells_from_zero(np.linalg.svd(scaled, compute_uv=False), "whether a matrix is singular")

    def _tells_from_zero(self: Any, values: Array, what: str) -> None:
        """Raises `UndecidedError` where one of n values of a matrix of unit columns, or a unit diagonal, is
        not clearly above 0: an elimination may not come to its end (Higham, theorem 10.7).
        """
        n = values.shape[-1]
        if np.any(values <= n * (n + 1) * FORMATS[self.precision].roundoff):
            raise UndecidedError(f"{self.precision} has too few digits to tell {what}")

    def _unit(self: Any, columns: Array) -> Array:
        """Columns of length 1."""
        return self._keep(columns + self._draws_of(columns))

    def _signs(self: Any, columns: Array) -> Array:
        """For each column, the number of modulus 1 that turns it to the exact lane's: (..., columns, lanes).

        It includes a further turn of no significance.
        """
        by_point = per_point(columns)
        inner = (np.conj(by_point) * by_point[..., :1]).sum(axis=-4)
        shape = (*inner.shape[:-2], columns.shape[-1])
        if not is_complex(inner):
            return np.where(inner < 0, -1.0, 1.0).reshape(shape)
        sizes = np.abs(inner)
        phases = np.where(sizes == 0.0, 1.0, inner / np.where(sizes == 0.0, 1.0, sizes)).reshape(shape)
        return phases * np.exp(1j * np.arange(1, columns.shape[-2] + 1))[:, np.newaxis]

    def _order(self: Any, w: Array) -> Array:
        """For each value of the exact lane, the place of its counterpart in another lane: (..., n, lanes)."""
        distances = np.abs(of_exact(w)[..., :, np.newaxis, :] - w[..., np.newaxis, :, :])
        order = distances.argmin(axis=-2) if w.size else np.zeros(w.shape, int)
        for place in np.ndindex(*w.shape[:-2], w.shape[-1]):
            index = (*place[:-1], slice(None), place[-1])
            one_to_one = len(set(order[index].tolist())) == w.shape[-2]
            if not one_to_one:  # those that are equal, or nearly so
                from scipy.optimize import linear_sum_assignment  # a third of a second, and rarely needed

                order[index] = linear_sum_assignment(distances[(*place[:-1], ..., place[-1])])[1]
        return order

    # Decompositions

    def qr(self: Any, x: Array, *, mode: str) -> tuple[Array, Array]:
        q, r = self._lapack("qr", self._by_column(x), mode=mode)
        signs = self._signs(q)
        kept = np.conj(signs[..., : r.shape[-3], :])[..., :, np.newaxis, :]
        first = lanes_first(_of_length_1(x[..., : min(x.shape[-3:-1]), :], -3))
        self._tells_from_zero(
            np.linalg.svd(first, compute_uv=False), "whether the first columns are independent"
        )
        return self._unit(q * signs[..., np.newaxis, :, :]), self._rounded(r * kept)

    def lu(self: Any, x: Array) -> tuple[Array, Array, Array]:
        p, lower, upper = self._lapack("lu", self._by_column(x))
        self._alike(p - 0.5)
        return p, self._rounded(lower), self._rounded(upper)

    def svd(self: Any, x: Array, *, full_matrices: bool) -> tuple[Array, Array, Array]:
        u, s, vh = self._lapack("svd", self._by_norm(x), full_matrices=full_matrices)
        k = s.shape[-2]
        v = np.conj(_transposed(vh))
        shared = self._signs(u[..., :k, :])
        left, right = (np.concatenate([shared, self._signs(y[..., k:, :])], axis=-2) for y in (u, v))
        u, v = self._unit(u * left[..., np.newaxis, :, :]), self._unit(v * right[..., np.newaxis, :, :])
        return u, self._rounded(s), np.conj(_transposed(v))

    def eigh(self: Any, x: Array) -> tuple[Array, Array]:
        w, v = self._lapack("eigh", self._by_norm(x))
        return self._rounded(w), self._unit(v * self._signs(v)[..., np.newaxis, :, :])

    def eig(self: Any, x: Array) -> tuple[Array, Array]:
        w, v = self._lapack("eig", self._by_norm(x))
        order = self._order(w)
        v = np.take_along_axis(v, order[..., np.newaxis, :, :], axis=-2)
        w = np.take_along_axis(w, order, axis=-2)
        return self._rounded(w), self._unit(v * self._signs(v)[..., np.newaxis, :, :])

    def eigvals(self: Any, x: Array) -> Array:
        w = self._lapack("eigvals", self._by_norm(x))
        return self._rounded(np.take_along_axis(w, self._order(w), axis=-2))

    # Solving

    def solve(self: Any, a: Array, b: Array) -> Array:
        column = b.ndim == 2
        x = self._rounded(self._lapack("solve", self._by_column(a), b[:, np.newaxis] if column else b))
        self._is_regular(a)
        return x[..., 0, :] if column else x

    def triangular_solve(
        self: Any, a: Array, b: Array, *, lower: bool, transposed: bool, unit_diagonal: bool, left: bool
    ) -> Array:
        """Solved like a general system, as a library may do so: it errs by more than substitution does."""
        triangle = self.tril(a, k=0) if lower else self.triu(a, k=0)
        if unit_diagonal:
            triangle = np.where(np.eye(a.shape[-2], dtype=np.bool_)[..., np.newaxis], 1.0, triangle)
        if transposed == left:
            triangle = _transposed(triangle)
        return self.solve(triangle, b) if left else _transposed(self.solve(triangle, _transposed(b)))

    def pinv(self: Any, x: Array) -> Array:
        """The exact lane decides which singular values are 0: perturbed matrices would all have full rank."""
        if x.size == 0:
            return self._lapack("pinv", x)
        u, s, vh = self._lapack("svd", self._by_norm(x), full_matrices=False)
        kept = of_exact(s) > _NUMPY_RANK * of_exact(s).max(axis=-2, keepdims=True)
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        return self._rounded(np.einsum("...kjl,...kl,...ikl->...jil", np.conj(vh), inverse, np.conj(u)))

    def lstsq(self: Any, a: Array, b: Array) -> Array:
        return self.matmul(self.pinv(a), b)

    # Determinants and powers

    def det(self: Any, x: Array) -> Array:
        """Also adds eps of Hadamard's bound, the product of the columns' lengths.

        That is the loss where all cofactors are 0.
        """
        if x.shape[-2] == 0:
            return self._lapack("det", x)
        det = self._lapack("det", self._by_column(x))
        lengths = _lengths(x, -3)[..., 0, :, :]
        self.see_partial_products(lengths, (lengths.ndim - 2,))
        return self._keep(det + np.prod(lengths, axis=-2) * self._draws_of(det))

    def slogdet(self: Any, x: Array) -> tuple[Array, Array]:
        sign, logabsdet = self._lapack("slogdet", self._by_column(x))
        if is_complex(sign):
            return self._near(sign, self._product), self._rounded(logabsdet)
        self._alike(sign)
        return sign, self._rounded(logabsdet)

    def matrix_power(self: Any, x: Array, *, n: int) -> Array:
        if n == 0:
            return self._lapack("matrix_power", x, n=0)
        if n < 0:
            return self.matrix_power(self.inv(x), n=-n)
        if n == 1:
            return x
        half = self.matrix_power(x, n=n // 2)
        square = self.matmul(half, half)
        return self.matmul(square, x) if n % 2 else square

    def cofactor(self: Any, x: Array, *directions: Array) -> Array:
        """Also adds eps of the product of the norms of all factors."""
        result = self._lapack("cofactor", *map(self._by_norm, (x, *directions)))
        norms = [_lengths(a, (-3, -2)) for a in (x, *directions)]
        factors = [norms[0]] * (x.shape[-2] - 1 - len(directions)) + norms[1:]
        return self._keep(result + functools.reduce(np.multiply, factors, 1.0) * self._draws_of(result))

    def divide_by_gaps(self: Any, k: Array, x: Array, y: Array, *, hollow: bool) -> Array:
        """The exact lane of each point decides which gaps are 0: perturbation splits repeated eigenvalues."""
        m, n = k.shape[-3:-1]
        gaps = self.subtract(y[..., np.newaxis, :, :], x[..., :, np.newaxis, :])
        largest = np.maximum(*(np.abs(v).max(axis=-2, initial=0.0) for v in (x, y)))
        largest = of_exact(largest[..., np.newaxis, np.newaxis, :])
        sizes, units = np.abs(of_exact(gaps)), GAP_UNITS * max(m, n)
        diagonal = np.eye(m, n, dtype=np.bool_)[..., np.newaxis] & hollow
        used = ~diagonal & (of_exact(k) != 0)
        closed = sizes <= units * np.finfo(np.float64).eps * largest
        if np.any(closed & used):
            raise DomainError("the derivative depends on the choice of vectors for a repeated value")
        unclear = sizes <= _UNCLEAR * units * FORMATS[self.precision].roundoff * largest
        if np.any(unclear & ~closed & used):
            raise UndecidedError(
                f"two eigenvalues or singular values are too close for {self.precision} to tell apart"
            )
        skipped = closed | diagonal
        return self._rounded(np.where(skipped, 0.0, k / np.where(skipped, 1.0, gaps)))

    # Norms

    def matrix_norm(self: Any, x: Array, *, ord: Any, keepdims: bool) -> Array:
        if x.size == 0:
            return self._lapack("matrix_norm", x, ord=ord, keepdims=keepdims)
        if ord == "fro":
            return self.sqrt(self.sum(self._squared(x), axis=(-2, -1), keepdims=keepdims))
        if ord in (2, -2, "nuc"):
            s = self.svdvals(x)
            one = s[..., 0 if ord == 2 else -1, :]
            result = self.sum(s, axis=-1, keepdims=False) if ord == "nuc" else one
        else:
            sums = self.sum(self.abs(x), axis=-2 if ord in (1, -1) else -1, keepdims=False)
            result = (self.amax if ord in (1, "inf") else self.amin)(sums, axis=-1, keepdims=False)
        return result[..., np.newaxis, np.newaxis, :] if keepdims else result

    def _squared(self: Any, x: Array) -> Array:
        """|x|^2, entry by entry."""
        if is_complex(x):
            return self.add(self.multiply(x.real, x.real), self.multiply(x.imag, x.imag))
        return self.multiply(x, x)

    def vector_norm(self: Any, x: Array, *, ord: Any, axis: Any, keepdims: bool) -> Array:
        if ord == 2:
            return self.sqrt(self.sum(self._squared(x), axis=axis, keepdims=keepdims))
        if is_complex(x):
            x = self.abs(x)
        if ord == 0:
            return self.sum(np.abs(self.sign(x)), axis=axis, keepdims=keepdims)
        size = x if isinstance(ord, int) and ord % 2 == 0 else self.abs(x)
        if ord in ("inf", "-inf"):
            return (self.amax if ord == "inf" else self.amin)(size, axis=axis, keepdims=keepdims)
        total = self.sum(self.integer_pow(size, n=ord), axis=axis, keepdims=keepdims)
        return total if ord == 1 else self.pow(total, np.full(total.shape, 1.0 / ord))

    # Diagonals, triangles, products

    def trace(self: Any, x: Array, *, offset: int) -> Array:
        return self.sum(self.diagonal(x, offset=offset), axis=-1, keepdims=False)

    def diagonal(self: Any, x: Array, *, offset: int) -> Array:
        if not has_lanes(x):
            return np.diagonal(x, offset, -2, -1)
        return np.swapaxes(np.diagonal(x, offset, -3, -2), -1, -2)

    def tril(self: Any, x: Array, *, k: int) -> Array:
        return self._triangle(x, lambda m, n: np.tri(m, n, k) == 1)

    def triu(self: Any, x: Array, *, k: int) -> Array:
        return self._triangle(x, lambda m, n: np.tri(m, n, k - 1) == 0)

    def _triangle(self: Any, x: Array, kept: Any) -> Array:
        if not has_lanes(x):
            return np.where(kept(*x.shape[-2:]), x, x.dtype.type(0))
        return np.where(kept(*x.shape[-3:-1])[..., np.newaxis], x, 0.0)

    def outer(self: Any, a: Array, b: Array) -> Array:
        return self.multiply(a[:, np.newaxis], b[np.newaxis, :])

    def kron(self: Any, a: Array, b: Array) -> Array:
        left, right = a[..., :, np.newaxis, :, np.newaxis, :], b[..., np.newaxis, :, np.newaxis, :, :]
        product = self.multiply(left, right)
        *batch, m, p, n, q, width = product.shape
        return product.reshape(*batch, m * p, n * q, width)

    def einsum(self: Any, *arrays: Array, subscripts: str) -> Array:
        left, _, out = subscripts.replace(" ", "").partition("->")
        terms = left.split(",")
        sizes = {
            c: n for term, x in zip(terms, arrays, strict=True) for c, n in zip(term, x.shape, strict=False)
        }
        if len(arrays) == 2 and math.prod(sizes.values()) >= MANY:
            count = math.prod(n for c, n in sizes.items() if c not in out)
            plain = functools.partial(np.einsum, subscripts, optimize=True)
            return self.contracted(plain, count, *map(self.operand, arrays))
        letters = out + "".join(sorted(set("".join(terms)) - set(out)))
        pairs = zip(terms, arrays, strict=True)
        operands = [aligned(letters + "*", term + "*", self.operand(x)) for term, x in pairs]
        product = functools.reduce(self.multiply, operands)
        rest = tuple(range(len(out), len(letters)))
        return self.sum(product, axis=rest, keepdims=False) if rest else product


def _squares(x: Array) -> Array:
    """|x|^2, entry by entry."""
    return x.real * x.real + x.imag * x.imag if is_complex(x) else x * x


def _lengths(x: Array, axis: Any) -> Array:
    return np.sqrt(np.sum(_squares(x), axis=axis, keepdims=True))


def _of_length_1(x: Array, axis: int) -> Array:
    lengths = _lengths(x, axis)
    return cast(Array, x / np.where(lengths == 0.0, 1.0, lengths))


def _transposed(x: Array) -> Array:
    return np.swapaxes(x, -3, -2)

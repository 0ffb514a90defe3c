"""Linear algebra in mpmath's multi-precision numbers: mpmath's own decompositions, at the working precision.

Two things are done here. The LU decomposition pivots as LAPACK does, by the greatest entry of the column. And a determinant is computed
exactly, by elimination without fractions (Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination", 1968):
mpf numbers are integers times powers of two, and only an exact 0 shows that the slope at a singular matrix is one.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError
from gradfuzz.programs.linalg_objects import Array, LinalgObjects
from gradfuzz.programs.object_namespace import OutOfRangeError

__all__ = ["LinalgMpmath"]

_NEGLIGIBLE = 64
"""A singular value or a pivot is 0 where it is within 2^64 roundings of 0: far below the step of any difference."""

_EXACT_BITS = 2**16
"""The range of exponents within which a determinant is computed exactly: more than that of float64."""

_EXPONENT = 256
"""A matrix whose norm is beyond 2^256 has an exponential beyond all floats."""

_REMEMBERED = 4096


class LinalgMpmath(LinalgObjects):
    """`mp` is the mpmath context. Most runs of a stencil meet the same matrices again, so results are remembered."""

    mp: Any
    order: int

    def nearest(self, x: Any) -> float:
        return float(x)

    def _matrix(self, a: Array) -> Any:
        return self.mp.matrix(a.tolist())

    def _remembered(self, name: str, compute: Callable[[Any], Any], a: Array) -> Any:
        """`compute` of the matrix, with mpmath's errors as domain errors."""
        known: dict[Any, Any] = self.__dict__.setdefault("_matrices", {})
        key = name, self.mp.prec, a.shape, tuple(x._mpf_ for x in a.ravel().tolist())
        if key not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            with _as_domain_error(name):
                known[key] = compute(self._matrix(a))
        return known[key]

    def qr_of(self, a: Array) -> tuple[Array, Array]:
        q, r = map(_array, self._remembered("qr", lambda m: self.mp.qr(m, mode="skinny"), a))
        sizes = [abs(x) for x in np.diagonal(r)]
        if min(sizes) <= self._negligible(max(sizes)):
            raise DomainError("qr of columns that depend on each other; the matrix must have full rank")
        return q, r

    def _negligible(self, size: Any) -> Any:
        """What is 0 beside a number of that size, as far as can be seen."""
        return self.mp.ldexp(size, _NEGLIGIBLE - self.mp.prec)

    def vanishes(self, x: Any, among: Sequence[Any]) -> bool:
        return bool(abs(x) <= self._negligible(max(map(abs, among))))

    def _completed(self, columns: Array, model: Any) -> Array:
        """Several further columns are drawn anew for each matrix: a loss that depends on them has no derivative, and is seen to jump."""
        result = super()._completed(columns, model)
        count = result.shape[1]
        if count < 2 or not self.order:
            return result
        generator = np.random.default_rng([abs(int(x._mpf_[1])) for x in columns.ravel().tolist()])
        rotation, _ = self.qr_of(self._numbers(generator.normal(size=(count, count))))
        return result @ rotation

    def lu_of(self, a: Array) -> tuple[list[int], Array, Array]:
        m, n = a.shape
        k = min(m, n)
        order, upper, lower = list(range(m)), a.copy(), self._eye(m, k)
        for j in range(k):
            best = j + self.pivot(upper[j:, j].tolist())
            order[j], order[best] = order[best], order[j]
            upper[[j, best]] = upper[[best, j]]
            lower[[j, best], :j] = lower[[best, j], :j]
            for i in range(j + 1, m):
                lower[i, j] = self.quotient(upper[i, j], upper[j, j])
                upper[i, j] = self.scalar(0)
                upper[i, j + 1 :] -= lower[i, j] * upper[j, j + 1 :]
        return order, lower, upper[:k]

    def svd_of(self, a: Array) -> tuple[Array, Array, Array]:
        u, s, vh = self._remembered("svd", self.mp.svd_r, a)
        return _array(u), _array(s)[:, 0], _array(vh)

    def singular_values(self, a: Array) -> Array:
        return _array(self._remembered("svdvals", lambda m: self.mp.svd_r(m, compute_uv=False), a))[:, 0]

    def eigh_of(self, a: Array) -> tuple[Array, Array]:
        w, v = self._remembered("eigh", self.mp.eigsy, a)
        return _array(w)[:, 0], _array(v)

    def eigenvalues(self, a: Array) -> Array:
        return _array(self._remembered("eigvalsh", lambda m: self.mp.eigsy(m, eigvals_only=True), a))[:, 0]

    def cholesky_of(self, a: Array) -> Array:
        return _array(self._remembered("cholesky", lambda m: self.mp.cholesky(m, tol=self.mp.zero), a))

    def solve_of(self, a: Array, b: Array) -> Array:
        lu, swaps = self._remembered("solve", self.mp.LU_decomp, a)
        columns = [self.mp.U_solve(lu, self.mp.L_solve(lu, self._matrix(c), swaps)) for c in b.T]
        return np.stack([_array(x)[:, 0] for x in columns], axis=1)

    def solve_upper(self, a: Array, b: Array) -> Array:
        upper = self._matrix(a)
        with _as_domain_error("triangular_solve"):
            return np.stack([_array(self.mp.U_solve(upper, self._matrix(c)))[:, 0] for c in b.T], axis=1)

    def det_of(self, a: Array) -> Any:
        entries = [x._mpf_ for x in a.ravel().tolist()]
        exponents = [exponent for _, mantissa, exponent, _ in entries if mantissa]
        least = min(exponents, default=0)
        if max(exponents, default=0) - least > _EXACT_BITS:
            raise OutOfRangeError("det of a matrix whose entries differ by more than floats can")
        rows = [(-m if sign else m) << (e - least if m else 0) for sign, m, e, _ in entries]
        n = len(a)
        return self.mp.ldexp(self.mp.mpf(_bareiss([rows[i * n : (i + 1) * n] for i in range(n)])), n * least)

    def pinv_of(self, a: Array) -> Array:
        """(A^T A)^-1 A^T for full rank, or its transpose's; else V S^-1 U^T over the singular values that are not 0.

        The rank is a choice: where it changes, the pseudo-inverse jumps.
        """
        tall = a if a.shape[0] >= a.shape[1] else a.T
        try:
            result, rank = self.solve_of(tall.T @ tall, tall.T), tall.shape[1]
        except DomainError:
            u, s, vh = self.svd_of(tall)
            rank = sum(x > self._negligible(s[0]) for x in s)
            result = (vh[:rank].T / s[:rank]) @ u[:, :rank].T if rank else self._numbers(np.zeros(tall.shape[::-1]))
        self.choices.append(rank)
        return result if a.shape[0] >= a.shape[1] else result.T

    def expm_of(self, a: Array) -> Array:
        """Scaling and squaring of the Taylor polynomial (Moler and Van Loan 2003, method 3), with bits for what squaring loses."""
        mp, prec = self.mp, self.mp.prec
        size = max(self.mp.mag(x) if x else 0 for x in a.ravel().tolist())
        if size > _EXPONENT:
            raise OutOfRangeError("expm of a matrix with entries beyond all floats")
        squarings = max(0, size + len(a).bit_length()) + math.isqrt(prec)
        with mp.workprec(prec + 2 * squarings + 16):
            small = a / mp.ldexp(mp.one, squarings)
            term = result = self._eye(len(a))
            # The norm of the scaled matrix is below 2^-isqrt(prec): so many terms are enough.
            for k in range(1, mp.prec // math.isqrt(prec) + 2):
                term = term @ small / k
                result = result + term
            for _ in range(squarings):
                result = result @ result
        return result


def _array(m: Any) -> Array:
    """A matrix of mpmath, a vector as one column, as an object array."""
    result = np.empty((m.rows, m.cols), object)
    for i in range(m.rows):
        for j in range(m.cols):
            result[i, j] = m[i, j]
    return result


def _bareiss(rows: list[list[int]]) -> int:
    """The determinant of a matrix of ints."""
    n, sign, previous = len(rows), 1, 1
    for k in range(n - 1):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // previous
        previous = rows[k][k]
    return sign * rows[-1][-1]


@contextlib.contextmanager
def _as_domain_error(op: str) -> Iterator[None]:
    try:
        yield
    except (ZeroDivisionError, ValueError) as error:
        raise DomainError(f"{op}: {error}") from error

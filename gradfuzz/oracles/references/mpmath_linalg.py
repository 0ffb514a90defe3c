"""Linear algebra in mpmath's multi-precision numbers: mpmath's own decompositions, at the working precision.

Two things are done here. The LU decomposition pivots as LAPACK does, by the greatest entry of the column. And
a determinant is computed exactly, by elimination without fractions (Bareiss, "Sylvester's identity and
multistep integer-preserving Gaussian elimination", 1968): mpf numbers are integers times powers of two, and
only an exact 0 shows that the slope at a singular matrix is one. Complex ones are pairs of such, which the
elimination treats as one.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError
from gradfuzz.programs.arithmetic.linalg_objects import Array, LinalgObjects
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError

_NEGLIGIBLE = 64
"""A singular value or a pivot is 0 where it is within 2^64 roundings of 0: far below the step of any
difference.
"""

_EXACT_BITS = 2**16
"""The range of exponents within which a determinant is computed exactly: more than that of float64."""

_EXPONENT = 256
"""A matrix whose norm is beyond 2^256 has an exponential beyond all floats."""

_REMEMBERED = 4096


def bits_of(x: Any) -> Any:
    """What tells an mpf or mpc from all others."""
    return x._mpf_ if hasattr(x, "_mpf_") else x._mpc_


class LinalgMpmath(LinalgObjects):
    """`mp` is the mpmath context. Most runs of a stencil meet the same matrices again, so results are
    remembered.
    """

    mp: Any
    order: int

    def nearest(self, x: Any) -> float:
        return float(x)

    def _matrix(self, a: Array) -> Any:
        return self.mp.matrix(a.tolist())

    def _remembered(self, name: str, compute: Callable[[Any], Any], a: Array) -> Any:
        """`compute` of the matrix, with mpmath's errors as domain errors."""
        known: dict[Any, Any] = self.__dict__.setdefault("_matrices", {})
        key = name, self.mp.prec, a.shape, tuple(map(bits_of, a.ravel().tolist()))
        if key not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            if not all(map(self.mp.isfinite, a.ravel())):  # mpmath's pivoting fails at these
                raise DomainError(f"{name} of a matrix with entries that are no finite numbers")
            with _as_domain_error(name):
                known[key] = compute(self._matrix(a))
        return known[key]

    def qr_of(self, a: Array) -> tuple[Array, Array]:
        q, r = map(_array, self._remembered("qr", lambda m: self.mp.qr(m, mode="skinny"), a))
        sizes = [abs(x) for x in np.diagonal(r)]
        if min(sizes) <= self._negligible(max(sizes)):
            raise DomainError("qr of columns that depend on each other; the matrix must have full rank")
        if self.has_complex(a):
            phases = np.array([x / size for x, size in zip(np.diagonal(r), sizes, strict=True)], object)
            q, r = q * phases, self.conj(phases)[:, np.newaxis] * r
            np.fill_diagonal(r, np.array(sizes, object))
        return q, r

    def _negligible(self, size: Any) -> Any:
        """What is 0 beside a number of that size, as far as can be seen."""
        return self.mp.ldexp(size, _NEGLIGIBLE - self.mp.prec)

    def vanishes(self, x: Any, among: Sequence[Any]) -> bool:
        return bool(abs(x) <= self._negligible(max(map(abs, among))))

    def _completed(self, columns: Array, model: Any) -> Array:
        """Several further columns are drawn anew for each matrix: a loss that depends on them has no
        derivative, and is seen to jump.
        """
        result = super()._completed(columns, model)
        count = result.shape[1]
        if count < 2 or not self.order:
            return result
        entries = (1, 1j) if self.has_complex(columns) else (1,)
        generator = _generator(columns)
        drawn = sum(generator.normal(size=(count, count)) * unit for unit in entries)
        rotation, _ = self.qr_of(self._numbers(drawn))
        return result @ rotation

    def phase(self, column: Array, model: Array) -> Any:
        """Drawn anew for each vector, for the same reason."""
        if not self.order:
            return super().phase(column, model)
        return self.mp.expjpi(_generator(column).uniform(-1.0, 1.0))

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
        u, s, vh = self._remembered("svd", self.mp.svd, a)
        return _array(u), _array(s)[:, 0], _array(vh)

    def singular_values(self, a: Array) -> Array:
        return _array(self._remembered("svdvals", lambda m: self.mp.svd(m, compute_uv=False), a))[:, 0]

    def eigh_of(self, a: Array) -> tuple[Array, Array]:
        w, v = self._remembered("eigh", self.mp.eigh, a)
        return _array(w)[:, 0], _array(v)

    def eigenvalues(self, a: Array) -> Array:
        return _array(self._remembered("eigvalsh", lambda m: self.mp.eigh(m, eigvals_only=True), a))[:, 0]

    def eig_of(self, a: Array) -> tuple[Array, Array]:
        w, v = self._remembered("eig", self.mp.eig, a)
        v = _array(v)
        lengths = np.array(
            [self.function("sqrt", sum(map(self.squared_modulus, column), self.scalar(0))) for column in v.T],
            object,
        )
        return np.array([self.promoted(x) for x in w], object), self.over_entries(self.promoted, v / lengths)

    def spectrum_of(self, a: Array) -> Array:
        # With neither vectors mpmath gives three results for a matrix of one row.
        w = a[0] if len(a) == 1 else self._remembered("eigvals", lambda m: self.mp.eig(m, right=False), a)
        return np.array([self.promoted(x) for x in w], object)

    def cholesky_of(self, a: Array) -> Array:
        return _array(self._remembered("cholesky", lambda m: self.mp.cholesky(m, tol=self.mp.zero), a))

    def _lu_decomposed(self, a: Any) -> Any:
        try:
            return self.mp.LU_decomp(a)
        except TypeError as error:  # it finds no pivot in a column of zeros, and takes None for one
            raise ZeroDivisionError("the matrix is singular") from error

    def solve_of(self, a: Array, b: Array) -> Array:
        lu, swaps = self._remembered("solve", self._lu_decomposed, a)
        columns = [self.mp.U_solve(lu, self.mp.L_solve(lu, self._matrix(c), swaps)) for c in b.T]
        return np.stack([_array(x)[:, 0] for x in columns], axis=1)

    def solve_upper(self, a: Array, b: Array) -> Array:
        upper = self._matrix(a)
        with _as_domain_error("triangular_solve"):
            return np.stack([_array(self.mp.U_solve(upper, self._matrix(c)))[:, 0] for c in b.T], axis=1)

    def det_of(self, a: Array) -> Any:
        n, count = len(a), 1 + self.has_complex(a)
        numbers = a.ravel().tolist()
        parts = [p._mpf_ for x in numbers for p in (self.parts(self.promoted(x)) if count == 2 else (x,))]
        exponents = [exponent for _, mantissa, exponent, _ in parts if mantissa]
        least = min(exponents, default=0)
        if max(exponents, default=0) - least > _EXACT_BITS:
            raise OutOfRangeError("det of a matrix whose entries differ by more than floats can")
        ints = [(-m if sign else m) << (e - least if m else 0) for sign, m, e, _ in parts]
        entries = ints if count == 1 else list(map(_Gaussian, ints[::2], ints[1::2]))
        det = _bareiss([entries[i * n : (i + 1) * n] for i in range(n)])
        if count == 1:
            return self.mp.ldexp(self.mp.mpf(det), n * least)
        return self.pair(*(self.mp.ldexp(self.mp.mpf(part), n * least) for part in (det.re, det.im)))

    def pinv_of(self, a: Array) -> Array:
        """(A^H A)^-1 A^H for full rank, or its adjoint's; else V S^-1 U^H over the singular values that are
        not 0.

        The rank is a choice: where it changes, the pseudo-inverse jumps.
        """
        tall = a if a.shape[0] >= a.shape[1] else self.adjoint(a)
        flat = self.adjoint(tall)
        try:
            result, rank = self.solve_of(flat @ tall, flat), tall.shape[1]
        except DomainError:
            u, s, vh = self.svd_of(tall)
            rank = sum(x > self._negligible(s[0]) for x in s)
            right, left = self.adjoint(vh[:rank]), self.adjoint(u[:, :rank])
            result = (right / s[:rank]) @ left if rank else self._numbers(np.zeros(tall.shape[::-1]))
        self.choices.append(rank)
        return result if a.shape[0] >= a.shape[1] else self.adjoint(result)

    def expm_of(self, a: Array) -> Array:
        """Scaling and squaring of the Taylor polynomial (Moler and Van Loan 2003, method 3), with bits for
        what squaring loses.
        """
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


def _generator(numbers: Array) -> np.random.Generator:
    """The same for the same numbers."""
    parts = [part for x in numbers.ravel().tolist() for part in (x.real, x.imag)]
    return np.random.default_rng([abs(int(part._mpf_[1])) for part in parts])


@dataclass(frozen=True, slots=True)
class _Gaussian:
    """The complex number re + i im of two ints."""

    re: int
    im: int

    def __bool__(self) -> bool:
        return bool(self.re or self.im)

    def __neg__(self) -> _Gaussian:
        return _Gaussian(-self.re, -self.im)

    def __mul__(self, other: _Gaussian | int) -> _Gaussian:
        if isinstance(other, int):
            return _Gaussian(self.re * other, self.im * other)
        return _Gaussian(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    __rmul__ = __mul__

    def __sub__(self, other: _Gaussian) -> _Gaussian:
        return _Gaussian(self.re - other.re, self.im - other.im)

    def __floordiv__(self, other: _Gaussian | int) -> _Gaussian:
        """The quotient where it is one of such numbers."""
        if isinstance(other, int):
            return _Gaussian(self.re // other, self.im // other)
        return self * _Gaussian(other.re, -other.im) // (other.re**2 + other.im**2)


def _bareiss(rows: list[list[Any]]) -> Any:
    """The determinant of a matrix of ints, or of Gaussian ones."""
    n, sign = len(rows), 1
    previous: Any = 1
    for k in range(n - 1):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return rows[k][k] * 0
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
    except (ZeroDivisionError, ValueError, RuntimeError) as error:
        raise DomainError(f"{op}: {error}") from error

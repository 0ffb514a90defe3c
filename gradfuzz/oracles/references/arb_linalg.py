"""Linear algebra in balls and in Taylor series with ball coefficients, by the textbook.

What needs no decision is done number by number, so that exact zeros stay zeros: QR by modified Gram-Schmidt,
LU by rows, Cholesky, the determinant as a sum of minors, which divides by nothing. The rest is done on the
matrices of coefficients, by FLINT's ball matrices: with A(t) = A0 + A1 t + ..., one solution at the point
gives all coefficients in turn.

Eigenvectors: FLINT encloses the eigenpairs of A0, provided that its eigenvalues are simple, and proves it
(Johansson, "Arb", 2017; Rump, "Computational error bounds for multiple or nearly multiple eigenvalues",
2001). With (A - l I) v = 0 and v^H v = 1 the further coefficients follow from one bordered system each,
Hermitian or not:

    [A0 - l0 I   -v0] [v_k]   [- sum over 1 <= j <= k of A_j v_{k-j} + sum over 1 <= j < k of l_j v_{k-j}]
    [v0^H          0] [l_k] = [                               - 1/2 sum over 1 <= j < k of v_j^H v_{k-j}]

The last line also settles the phase of a complex vector: v0^H v stays real. Singular values and vectors are
those of A^H A; where small ones drown, more bits find them. Where eigenvalues coincide, or a singular value
is 0, this reference cannot tell.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import flint
import numpy as np
from flint import acb, acb_mat, acb_series, arb, arb_mat, arb_series

from gradfuzz.oracles.references.arb_numbers import Number, Real, WideError, constant_term, is_complex
from gradfuzz.programs.arithmetic.linalg_objects import Array, LinalgObjects
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError

_MINORS = 6
"""Determinants up to this size are sums of minors, 2^n of them; greater ones are read off the characteristic
polynomial.
"""

_LARGE = 64
"""A product of more multiplications is left to FLINT."""

_SERIES = frozenset({arb_series, acb_series})

_COMPLEX = frozenset({acb, acb_series})

Coefficients = list[Any]
"""The ball matrices A0, A1, ... of a matrix of series; A0 alone where nothing moves."""


Eigenpairs = dict[Any, list[tuple[arb | acb, Any]]]
"""Eigenvalues and vectors, by the precision, what is known of the matrix and its entries."""


class LinalgArb(LinalgObjects):
    """`order` is that of the last coefficient. `eigenpairs` are those of matrices that were met before.

    `phases` counts the complex vectors that a decomposition has left free but for a phase. Where `turned`,
    they have other phases, which also change along the line.
    """

    order: int
    eigenpairs: Eigenpairs
    phases: int
    turned: bool

    def nearest(self, x: Number) -> float:
        return float(constant_term(x).mid())

    def size(self, x: Number) -> Real:
        """At 0 the sign of the first coefficient is not known, and only the value is."""
        here = constant_term(x)
        if is_complex(x):
            if isinstance(x, acb):
                return abs(x)
            if not here.contains(0):
                return self.function("sqrt", self.squared_modulus(x))
            return arb_series([abs(here), *[arb.nan()] * self.order])
        if here.is_zero() or not here.contains(0):
            return -x if here < 0 else x
        return arb_series([abs(here), *[arb.nan()] * self.order])

    def _size_to_power(self, x: Number, n: int) -> Real:
        moves_from_zero = isinstance(x, (arb_series, acb_series)) and constant_term(x).is_zero()
        if n % 2 and moves_from_zero and (n > self.order or self.same(x, arb(0))):
            return arb_series([arb(0)])
        return super()._size_to_power(x, n)

    def _dot(self, a: Iterable[Number], b: Iterable[Number]) -> Number:
        return functools.reduce(self.plus, map(self.times, a, b), arb(0))

    def _length(self, column: Iterable[Number]) -> Real:
        return self.function("sqrt", functools.reduce(self.plus, map(self.squared_modulus, column), arb(0)))

    def phase(self, column: Array, model: Array) -> Number:
        self.phases += 1
        found = super().phase(column, model)
        if not self.turned:
            return found
        angle = acb(0, self.phases)
        return found * acb_series([angle, angle]).exp()

    # Number by number

    def qr_of(self, a: Array) -> tuple[Array, Array]:
        m, n = a.shape
        columns = [a[:, j].tolist() for j in range(n)]
        r = self._numbers(np.zeros((n, n)))
        for j in range(n):
            r[j, j] = self._length(columns[j])
            columns[j] = [self.quotient(x, r[j, j]) for x in columns[j]]
            conjugates = list(map(self.conjugate, columns[j]))
            for k in range(j + 1, n):
                r[j, k] = self._dot(conjugates, columns[k])
                shares = [self.times(r[j, k], y) for y in columns[j]]
                columns[k] = list(map(self.minus, columns[k], shares))
        q = np.empty((m, n), object)
        for j in range(n):
            q[:, j] = _vector(columns[j])
        return q, r

    def lu_of(self, a: Array) -> tuple[list[int], Array, Array]:
        """Column by column, each from those to the left of it (Golub and Van Loan 2013, section 3.2.9)."""
        m, n = a.shape
        k = min(m, n)
        order, lower, upper = list(range(m)), self._eye(m, k), self._numbers(np.zeros((k, n)))
        for j in range(n):
            column = [a[i, j] for i in order]
            for i in range(1, m):
                done = min(i, j, k)
                column[i] = self.minus(column[i], self._dot(lower[i, :done], column[:done]))
            if j < k:
                best = j + self.pivot(column[j:])
                order[j], order[best] = order[best], order[j]
                column[j], column[best] = column[best], column[j]
                lower[[j, best], :j] = lower[[best, j], :j]
                lower[j + 1 :, j] = _vector(self.quotient(x, column[j]) for x in column[j + 1 :])
            upper[: j + 1, j] = _vector(column[: min(j + 1, k)])
        return order, lower, upper

    def cholesky_of(self, a: Array) -> Array:
        n = len(a)
        lower = self._numbers(np.zeros((n, n)))
        for j in range(n):
            for i in range(j, n):
                rest = self.minus(a[i, j], self._dot(lower[i, :j], map(self.conjugate, lower[j, :j])))
                lower[i, j] = (
                    self.function("sqrt", self.real(rest)) if i == j else self.quotient(rest, lower[j, j])
                )
        return lower

    def solve_upper(self, a: Array, b: Array) -> Array:
        result = b.copy()
        for j in range(b.shape[1]):
            for i in reversed(range(len(a))):
                rest = self.minus(b[i, j], self._dot(a[i, i + 1 :], result[i + 1 :, j]))
                result[i, j] = self.quotient(rest, a[i, i])
        return result

    def det_of(self, a: Array) -> Number:
        return self._minors(a) if len(a) <= _MINORS else self._by_traces(a)

    def _minors(self, a: Array) -> Number:
        """The minors of the first rows, by the set of their columns: each is expanded along its last row."""
        n = len(a)
        minors: dict[int, Number] = {0: arb(1)}
        for row in a:
            wider: dict[int, Number] = {}
            for columns, minor in minors.items():
                for j in range(n):
                    if not columns >> j & 1:
                        term = self.times(row[j], minor)
                        negative = (columns >> j).bit_count() % 2
                        found = wider.get(columns | 1 << j, arb(0))
                        wider[columns | 1 << j] = self.plus(found, -term if negative else term)
            minors = wider
        return minors[(1 << n) - 1]

    def _by_traces(self, a: Array) -> Number:
        """The last coefficient of the characteristic polynomial: M_k = A M_{k-1} + c_k I, c_k = -tr(A
        M_{k-1}) / k (Faddeev, Le Verrier).
        """
        n = len(a)
        coefficients = self._coefficients(a)
        eye = type(coefficients[0])(n, n, np.eye(n).ravel().tolist())
        power, numbers = [eye], [arb(1)]
        for k in range(1, n + 1):
            power = _product(coefficients, power, len(coefficients))
            numbers = [-p.trace() / k for p in power]
            power = [p + c * eye for p, c in zip(power, numbers, strict=True)]
        return _number([(-1) ** n * c for c in numbers])

    # Matrices of coefficients

    def _coefficients(self, a: Array) -> Coefficients:
        entries = a.ravel().tolist()
        kinds = set(map(type, entries))
        matrix = arb_mat if kinds.isdisjoint(_COMPLEX) else acb_mat
        if kinds.isdisjoint(_SERIES):
            return [matrix(*a.shape, entries)]
        if kinds <= _SERIES:
            return [matrix(*a.shape, [x[k] for x in entries]) for k in range(self.order + 1)]
        return [
            matrix(*a.shape, [x[k] if type(x) in _SERIES else x if k == 0 else 0 for x in entries])
            for k in range(self.order + 1)
        ]

    def has_complex(self, *arrays: Array) -> bool:
        return not all(_COMPLEX.isdisjoint(map(type, a.ravel().tolist())) for a in arrays)

    def products(self, left: Array, right: Array) -> Array:
        """Large ones by their coefficients; what a matrix of zeros and ones selects stays exact."""
        if _is_small(left, right) or _selects(left) or _selects(right):
            return super().products(left, right)
        return self._over("matmul", self._multiplied, left, right)

    def _multiplied(self, a: Array, b: Array) -> Array:
        left, right = self._coefficients(a), self._coefficients(b)
        product = _product(left, right, max(len(left), len(right)))
        result = _lifted(product)
        still = [i for i, row in enumerate(a) if len(product) > 1 and not _moves(row)]
        if still:
            for j in (j for j, column in enumerate(b.T) if not _moves(column)):
                for i in still:
                    result[i, j] = product[0][i, j]
        return result

    def solve_of(self, a: Array, b: Array) -> Array:
        """X_k = A0^-1 (B_k - sum over 1 <= j <= k of A_j X_{k-j})."""
        return _lifted(_solved(self._coefficients(a), self._coefficients(b), "solve"))

    def pinv_of(self, a: Array) -> Array:
        """(A^H A)^-1 A^H, or A^H (A A^H)^-1 where the rows are fewer."""
        m, n = a.shape
        tall = self._coefficients(a if m >= n else self.adjoint(a))
        flat = [_adjoint(x) for x in tall]
        inverse = _lifted(_solved(_product(flat, tall, len(tall)), flat, "pinv", tie=True))
        return inverse if m >= n else self.adjoint(inverse)

    def expm_of(self, a: Array) -> Array:
        """The coefficients side by side: block Toeplitz matrices, upper triangular, multiply as the series
        do.
        """
        coefficients = self._coefficients(a)
        n, count, matrix = len(a), len(coefficients), type(coefficients[0])
        rows, zeros = [x.tolist() for x in coefficients], [0] * n
        entries = [
            y
            for p in range(count)
            for i in range(n)
            for y in (*(zeros * p), *(y for q in range(count - p) for y in rows[q][i]))
        ]
        result = matrix(n * count, n * count, entries).exp().tolist()
        first = [[y for row in result[:n] for y in row[k * n : (k + 1) * n]] for k in range(count)]
        return _lifted([matrix(n, n, entries) for entries in first])

    def eigh_of(self, a: Array) -> tuple[Array, Array]:
        return _columns(self._eigenpairs(self._coefficients(a)))

    def eig_of(self, a: Array) -> tuple[Array, Array]:
        coefficients = [acb_mat(x) for x in self._coefficients(a)]
        return _columns(
            _moved(coefficients, value, vector)
            for value, vector in self._at_the_point(coefficients[0], hermitian=False)
        )

    def spectrum_of(self, a: Array) -> Array:
        return self.eig_of(a)[0]

    def eigenvalues(self, a: Array) -> Array:
        return _vector(w for w, _ in self._eigenpairs(self._coefficients(a)))

    def _eigenpairs(self, a: Coefficients) -> Iterator[tuple[Number, Coefficients]]:
        """The eigenvalues of a Hermitian matrix in ascending order, and the coefficients of their vectors, of
        length 1.
        """
        for value, vector in self._at_the_point(a[0], hermitian=True):
            number, vectors = _moved(a, value, vector)
            yield self.real(number), vectors

    def _at_the_point(self, a: Any, *, hermitian: bool) -> list[tuple[arb | acb, Any]]:
        """The same for all lines through it."""
        entries = a.entries()
        if not all(x.is_finite() for x in entries):
            raise OutOfRangeError("eigenvalues or singular values of a matrix of unknown size")
        if isinstance(a, acb_mat):
            entries = [part for x in entries for part in (x.real, x.imag)]
        key = flint.ctx.prec, hermitian, type(a), *((x.mid().man_exp(), x.rad().man_exp()) for x in entries)
        if key not in self.eigenpairs:
            self.eigenpairs[key] = _enclosed(a, hermitian)
        return self.eigenpairs[key]

    def svd_of(self, a: Array) -> tuple[Array, Array, Array]:
        coefficients = self._coefficients(a)
        s, vectors = self._right_vectors(coefficients)
        right = np.concatenate([_lifted(v) for v in vectors], axis=1)
        products = [_product(coefficients, v, len(coefficients)) for v in vectors]
        images = np.concatenate(list(map(_lifted, products)), axis=1)
        return self.divide(images, s[np.newaxis, :]), s, self.adjoint(right)

    def singular_values(self, a: Array) -> Array:
        return self._right_vectors(self._coefficients(a))[0]

    def _right_vectors(self, a: Coefficients) -> tuple[Array, list[Coefficients]]:
        """Singular values in descending order, and the coefficients of the vectors on the right."""
        pairs = list(self._eigenpairs(_product([_adjoint(x) for x in a], a, len(a))))[::-1]
        if any(constant_term(w).contains(0) for w, _ in pairs):
            raise WideError("a singular value may be 0", tie=True)
        return self.sqrt(_vector(w for w, _ in pairs)), [v for _, v in pairs]


def _enclosed(a: Any, hermitian: bool) -> list[tuple[arb | acb, Any]]:
    """The eigenvalues of a ball matrix, in ascending order where it is Hermitian, and their vectors, of
    length 1.
    """
    n, matrix = a.nrows(), type(a)
    try:
        values, vectors = acb_mat(a).eig(right=True)
    except ValueError as error:
        raise WideError("eigenvalues or singular values may coincide", tie=True) from error
    pairs = []
    for index in sorted(range(n), key=lambda k: values[k].real.mid()):
        # FLINT's vector is any multiple of one with an entry 1, which is real where the matrix is real and
        # symmetric.
        found = [vectors[i, index] for i in range(n)]
        largest = max(found, key=lambda x: abs(x).mid())
        ratios = [x / largest if matrix is acb_mat else (x / largest).real for x in found]
        squares = [abs(x) ** 2 if matrix is acb_mat else x * x for x in ratios]
        norm = sum(squares, arb(0)).sqrt()
        value = values[index].real if hermitian else values[index]
        pairs.append((value, matrix(n, 1, [x / norm for x in ratios])))
    return pairs


def _is_small(a: Array, b: Array) -> bool:
    """Whether a product takes few multiplications, or is none of numbers."""
    if a.dtype != object or b.dtype != object or not a.size or not b.size:
        return True
    return bool(a.size * b.shape[-1] < _LARGE)


def _selects(a: Array) -> bool:
    """Whether all entries are constants 0, 1 or -1."""
    return all(isinstance(x, arb) and (x == 0 or x == 1 or x == -1) for x in a.flat)


def _moves(a: Array) -> bool:
    """Whether an entry depends on the line."""
    return any(isinstance(x, (arb_series, acb_series)) for x in a)


def _kind(a: Coefficients, b: Coefficients) -> Any:
    """What matrices a product of the two has as coefficients."""
    return acb_mat if isinstance(a[0], acb_mat) or isinstance(b[0], acb_mat) else arb_mat


def _adjoint(a: Any) -> Any:
    return a.transpose().conjugate() if isinstance(a, acb_mat) else a.transpose()


def _solved(a: Coefficients, b: Coefficients, op: str, *, tie: bool = False) -> Coefficients:
    count = max(len(a), len(b))
    matrix = _kind(a, b)
    if matrix is acb_mat:
        a, b = [acb_mat(x) for x in a], [acb_mat(x) for x in b]
    result: Coefficients = []
    try:
        for k in range(count):
            right = b[k] if k < len(b) else matrix(b[0].nrows(), b[0].ncols())
            for j in range(1, min(k + 1, len(a))):
                right -= a[j] * result[k - j]
            result.append(a[0].solve(right))
    except ZeroDivisionError as error:
        raise WideError(f"{op} of a matrix that may be singular", tie=tie) from error
    return result


def _moved(a: Coefficients, value: arb | acb, vector: Any) -> tuple[Number, Coefficients]:
    """The series of an eigenpair that starts with `value` and `vector`, by the bordered system."""
    n, count, matrix = a[0].nrows(), len(a), type(a[0])
    values, vectors = [value], [vector]
    if count > 1:
        entries = [a[0][i, j] - value if i == j else a[0][i, j] for i in range(n) for j in range(n)]
        rows = [[*entries[i * n : (i + 1) * n], -vector[i, 0]] for i in range(n)]
        adjoint = _adjoint(vector)
        bordered = matrix([*rows, [*(adjoint[0, i] for i in range(n)), arb(0)]])
        for k in range(1, count):
            right, norm = matrix(n, 1), arb(0)
            for j in range(1, k + 1):
                right -= a[j] * vectors[k - j]
            for j in range(1, k):
                right += values[j] * vectors[k - j]
                norm -= (_adjoint(vectors[j]) * vectors[k - j])[0, 0] / 2
            try:
                found = bordered.solve(matrix(n + 1, 1, [*(right[i, 0] for i in range(n)), norm]))
            except ZeroDivisionError as error:
                raise WideError("eigenvalues or singular values may coincide", tie=True) from error
            vectors.append(matrix(n, 1, [found[i, 0] for i in range(n)]))
            values.append(found[n, 0])
    return _number(values), vectors


def _product(a: Coefficients, b: Coefficients, count: int) -> Coefficients:
    """The first coefficients of a product of matrices of series."""
    result, matrix = [], _kind(a, b)
    for k in range(count):
        total = matrix(a[0].nrows(), b[0].ncols())
        for j in range(k + 1):
            if j < len(a) and k - j < len(b):
                total += a[j] * b[k - j]
        result.append(total)
    return result


def _number(coefficients: list[Any]) -> Number:
    if len(coefficients) == 1:
        return coefficients[0]
    return (acb_series if isinstance(coefficients[-1], acb) else arb_series)(coefficients)


def _lifted(a: Coefficients) -> Array:
    """A matrix of numbers from its coefficients."""
    shape = a[0].nrows(), a[0].ncols()
    columns = zip(*(x.entries() for x in a), strict=True)
    return _vector(_number(list(column)) for column in columns).reshape(shape)


def _columns(pairs: Iterable[tuple[Number, Coefficients]]) -> tuple[Array, Array]:
    """Eigenvalues, and their vectors as the columns of a matrix of numbers."""
    values, vectors = zip(*pairs, strict=True)
    return _vector(values), np.concatenate([_lifted(v) for v in vectors], axis=1)


def _vector(numbers: Iterable[Number]) -> Array:
    entries = list(numbers)
    result = np.empty(len(entries), object)
    for k, x in enumerate(entries):
        result[k] = x
    return result

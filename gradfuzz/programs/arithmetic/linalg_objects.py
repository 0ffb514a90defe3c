"""Linear algebra on object arrays: decompositions, systems, determinants, powers and norms. How a matrix is
factored is the subclass's own.

A decomposition that is unique but for signs is turned to agree with the one that LAPACK gives for the matrix
rounded to float64; so is one that is unique but for phases, complex numbers of modulus 1. The r of a complex
qr has a real diagonal, as LAPACK's has. The columns that the matrix does not determine at all (of a complete
q, of full u and vh) are LAPACK's, made orthonormal and orthogonal to the others: the basis nearest to
LAPACK's, whose derivative has no rotation inside the complement.
"""

from __future__ import annotations

import abc
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError
from gradfuzz.programs.arithmetic.matrix_objects import MatrixObjects, signed

Array = Any
"""An object array of numbers; a single number where a result has no axes."""


def _per_matrix(op: str, one: str = "_{}") -> Any:
    """The op that is a method, `one` with its name, of every matrix of a batch."""

    def method(self: Any, *arrays: Array, **params: Any) -> Any:
        function = functools.partial(getattr(self, one.format(op)), **params)
        return self._over(op, function, *arrays, **params)

    return method


class LinalgObjects(MatrixObjects):
    """The linear-algebra ops. A subclass gives the algorithms, each for one matrix that has rows
    and columns.
    """

    # What a subclass gives

    @abc.abstractmethod
    def qr_of(self, a: Array) -> tuple[Array, Array]:
        """Q (m, n) with orthonormal columns and R (n, n) upper triangular, of A (m, n) with m >= n. Signs are
        free.

        R's diagonal is real.
        """

    @abc.abstractmethod
    def lu_of(self, a: Array) -> tuple[list[int], Array, Array]:
        """The order of the rows, L (m, k) and U (k, n), k = min(m, n), with A[order] = L U; pivots are chosen
        by `pivot`.
        """

    @abc.abstractmethod
    def svd_of(self, a: Array) -> tuple[Array, Array, Array]:
        """U (m, n), S (n,) descending and V^H (n, n), of A (m, n) with m >= n. Signs or phases are free."""

    @abc.abstractmethod
    def singular_values(self, a: Array) -> Array:
        """S (n,) descending, of A (m, n) with m >= n."""

    @abc.abstractmethod
    def eigh_of(self, a: Array) -> tuple[Array, Array]:
        """Eigenvalues (n,) ascending and orthonormal eigenvectors (n, n) as columns, of a Hermitian matrix.
        Signs or phases are free.
        """

    @abc.abstractmethod
    def eigenvalues(self, a: Array) -> Array:
        """Eigenvalues (n,) ascending, of a Hermitian matrix."""

    @abc.abstractmethod
    def eig_of(self, a: Array) -> tuple[Array, Array]:
        """Complex eigenvalues (n,) in any order and eigenvectors (n, n) of norm 1 as columns, of any square
        matrix. Phases are free.
        """

    @abc.abstractmethod
    def spectrum_of(self, a: Array) -> Array:
        """Complex eigenvalues (n,) in any order, of any square matrix."""

    @abc.abstractmethod
    def cholesky_of(self, a: Array) -> Array:
        """The lower factor, of a Hermitian matrix."""

    @abc.abstractmethod
    def solve_of(self, a: Array, b: Array) -> Array:
        """X (n, k) of A X = B."""

    @abc.abstractmethod
    def solve_upper(self, a: Array, b: Array) -> Array:
        """X (n, k) of A X = B for an upper triangular matrix."""

    @abc.abstractmethod
    def det_of(self, a: Array) -> Any:
        """The determinant, exact where it is 0."""

    @abc.abstractmethod
    def pinv_of(self, a: Array) -> Array:
        """The pseudo-inverse (n, m) of A (m, n)."""

    @abc.abstractmethod
    def expm_of(self, a: Array) -> Array:
        """The matrix exponential."""

    # Decompositions

    qr, lu, svd, eigh, eig, eigvals = map(_per_matrix, ("qr", "lu", "svd", "eigh", "eig", "eigvals"))
    pinv, det, expm = (_per_matrix(op, "{}_of") for op in ("pinv", "det", "expm"))
    cofactor = _per_matrix("cofactor")

    def _completed(self, columns: Array, model: Any) -> Array:
        """The model's further columns, made orthonormal and orthogonal to `columns`."""
        further = self._numbers(model)
        inside = self.matmul(columns, self.matmul(self.adjoint(columns), further))
        result, _ = self.qr_of(self.subtract(further, inside))
        return self._turned(result, self._turns(result, model))

    def _qr(self, a: Array, mode: str) -> tuple[Array, Array]:
        m, n = a.shape
        k = min(m, n)
        model, _ = self._model("qr", a, mode=mode)
        q, r = self.qr_of(a[:, :k])
        r = np.concatenate([r, self.matmul(self.adjoint(q), a[:, k:])], axis=1) if n > k else r
        opposed = self._opposed(q, model[:, :k])
        q, r = signed(q, opposed), signed(r.T, opposed).T
        if mode == "complete" and m > k:
            q = np.concatenate([q, self._completed(q, model[:, k:])], axis=1)
            r = np.concatenate([r, self._numbers(np.zeros((m - k, n)))])
        return q, r

    def _lu(self, a: Array) -> tuple[Array, Array, Array]:
        order, lower, upper = self.lu_of(a)
        p = np.zeros((len(order), len(order)))
        p[order, range(len(order))] = 1.0
        return self._numbers(p), lower, upper

    def pivot(self, candidates: Sequence[Any]) -> int:
        """Where the entry of greatest absolute value stands, the first of equals. For complex ones LAPACK's
        izamax has |re| + |im|.
        """
        parts = [self.parts(x) if self.is_complex(x) else (x,) for x in candidates]
        return self._extreme([functools.reduce(self.plus, map(self.size, numbers)) for numbers in parts], 1)

    def _extreme(self, row: Sequence[Any], sign: int) -> int:
        """Where the greatest (`sign` 1) or smallest (-1) entry stands, the first of equals.

        Its comparisons with the others are choices. The order of the others is none, so floats find the
        candidate.
        """
        floats = [sign * self.nearest(x) for x in row]
        best = floats.index(max(floats))
        for k in itertools.chain(range(best + 1, len(row)), range(best)):
            found = sign * self._choice(row[k], row[best])
            if found > 0 or (found == 0 and k < best):
                best = k
        return best

    def _svd(self, a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
        m, n = a.shape
        k = min(m, n)
        model_u, _, model_vh = self._model("svd", a, full_matrices=full_matrices)
        u, s, vh = self.svd_of(a if m >= n else self.adjoint(a))
        u, v = (u, self.adjoint(vh)) if m >= n else (self.adjoint(vh), u)
        turns = self._turns(u, model_u[:, :k])
        u, v = self._turned(u, turns), self._turned(v, turns)
        if full_matrices and m > k:
            u = np.concatenate([u, self._completed(u, model_u[:, k:])], axis=1)
        if full_matrices and n > k:
            v = np.concatenate([v, self._completed(v, np.conj(model_vh[k:].T))], axis=1)
        return u, s, self.adjoint(v)

    def svdvals(self, x: Array) -> Array:
        return self._over("svdvals", lambda a: self.singular_values(a if len(a) >= len(a.T) else a.T), x)

    def _hermitian(self, x: Array) -> Array:
        return self.multiply(self.add(x, self.adjoint(x)), self.scalar(0.5))

    def _eigh(self, a: Array) -> tuple[Array, Array]:
        _, model = self._model("eigh", a)
        w, v = self.eigh_of(self._hermitian(a))
        return w, self._turned(v, self._turns(v, model))

    def eigvalsh(self, x: Array) -> Array:
        return self._over("eigvalsh", lambda a: self.eigenvalues(self._hermitian(a)), x)

    def _eig(self, a: Array) -> tuple[Array, Array]:
        values, vectors = self._model("eig", a)
        w, v = self.eig_of(a)
        order = self._order_of(w, values)
        v = v[:, order]
        return w[order], self._turned(v, self._turns(v, vectors))

    def _eigvals(self, a: Array) -> Array:
        w = self.spectrum_of(a)
        return w[self._order_of(w, self._model("eigvals", a))]

    def _order_of(self, w: Array, model: Any) -> Any:
        """The order in which the numbers stand nearest to the model's."""
        from scipy.optimize import linear_sum_assignment

        distances = np.abs(self._floats(w)[np.newaxis, :] - model[:, np.newaxis])
        return linear_sum_assignment(np.where(np.isfinite(distances), distances, 0.0))[1]

    def cholesky(self, x: Array, *, upper: bool) -> Array:
        lower = self._over("cholesky", lambda a: self.cholesky_of(self._hermitian(a)), x, upper=False)
        return self.adjoint(lower) if upper else lower

    # Solving

    def solve(self, a: Array, b: Array) -> Array:
        column = b.ndim == 1
        x = self._over("solve", self.solve_of, a, b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    def triangular_solve(
        self, a: Array, b: Array, *, lower: bool, transposed: bool, unit_diagonal: bool, left: bool
    ) -> Array:
        def one(t: Array, c: Array) -> Array:
            t = self.tril(t, k=0) if lower else self.triu(t, k=0)
            if unit_diagonal:
                np.fill_diagonal(t, self.scalar(1))
            t, c = (t if left else t.T), (c if left else c.T)
            t, backwards = (t.T if transposed else t), lower ^ transposed ^ (not left)
            x = self.solve_upper(t[::-1, ::-1], c[::-1])[::-1] if backwards else self.solve_upper(t, c)
            return x if left else x.T

        params = {"lower": lower, "transposed": transposed, "unit_diagonal": unit_diagonal, "left": left}
        return self._over("triangular_solve", one, a, b, **params)

    def inv(self, x: Array) -> Array:
        return self._over("inv", lambda a: self.solve_of(a, self._eye(len(a))), x)

    def lstsq(self, a: Array, b: Array) -> Array:
        return self.matmul(self.pinv(a), b)

    # Determinants and powers

    def slogdet(self, x: Array) -> tuple[Array, Array]:
        det = self.det(x)
        if self.has_complex(self.as_array(det)):
            modulus = self.abs(det)
            return self.divide(det, modulus), self.log(modulus)
        sign = self.sign(det)
        return sign, self.log(self.multiply(sign, det))

    def _cofactor(self, a: Array, *directions: Array) -> Array:
        """D^k cof(X)[E1, ..., Ek] for k directions: each takes the place of one row of a minor, in every
        order of distinct rows.
        """
        n = len(a)
        result = np.empty((n, n), object)
        for i, j in itertools.product(range(n), repeat=2):
            keep = [[k for k in range(n) if k != gone] for gone in (i, j)]
            minor, *others = (x[np.ix_(*keep)] for x in (a, *directions))
            total = self.scalar(0 if directions or n > 1 else 1)
            for rows in itertools.permutations(range(n - 1), len(directions)) if n > 1 else ():
                mixed = minor.copy()
                for row, other in zip(rows, others, strict=True):
                    mixed[row] = other[row]
                total = self.plus(total, self.det_of(mixed))
            result[i, j] = -total if (i + j) % 2 else total
        return result

    def divide_by_gaps(self, k: Array, x: Array, y: Array, *, hollow: bool) -> Array:
        """k_ij / (y_j - x_i); where the gap is 0, k must be, and the result is 0. The diagonal is 0 where
        `hollow`.
        """
        result = np.empty(k.shape, object)
        for *batch, i, j in np.ndindex(k.shape):
            place = tuple(batch)
            gap, number = self.minus(y[(*place, j)], x[(*place, i)]), k[(*place, i, j)]
            if hollow and i == j:
                result[(*place, i, j)] = self.scalar(0)
            elif not self.vanishes(gap, [*x[place].tolist(), *y[place].tolist()]):
                result[(*place, i, j)] = self.quotient(number, gap)
            elif self.vanishes(number, k[place].ravel().tolist()):
                result[(*place, i, j)] = self.scalar(0)
            else:
                left_open = "what a repeated eigenvalue or singular value leaves open"
                raise DomainError(f"a derivative that depends on {left_open}")
        return result

    def vanishes(self, x: Any, among: Sequence[Any]) -> bool:
        """Whether a number is 0, as far as can be seen beside the others."""
        return not self.nonzero(x) if self.is_complex(x) else self.compare(x, self.scalar(0)) == 0

    def matrix_power(self, x: Array, *, n: int) -> Array:
        if n == 0:
            return np.broadcast_to(self._eye(x.shape[-1]), x.shape)
        if n < 0:
            return self.matrix_power(self.inv(x), n=-n)
        half = self.matrix_power(x, n=n // 2) if n > 1 else None
        if half is None:
            return x
        square = self.matmul(half, half)
        return self.matmul(square, x) if n % 2 else square

    # Norms

    def matrix_norm(self, x: Array, *, ord: Any, keepdims: bool) -> Array:
        """1 and inf choose a maximum of sums, -1 and -inf a minimum; 2, -2 and nuc are made of the singular
        values.
        """
        if x.size == 0:
            return self._empty("matrix_norm", [x], {"ord": ord, "keepdims": keepdims})
        if ord == "fro":
            return self.over(lambda row: self._norm(row, 2), x, (-2, -1), keepdims)
        if ord in (2, -2, "nuc"):
            s = self.svdvals(x)
            result = self.sum(s, axis=-1, keepdims=False) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
        else:
            lines = np.swapaxes(x, -1, -2) if ord in (1, -1) else x
            sign = 1 if ord in (1, "inf") else -1
            result = self._over("matrix_norm", lambda a: self._extreme_line(a, sign), lines)
        return self.as_array(result)[..., np.newaxis, np.newaxis] if keepdims else result

    def _extreme_line(self, a: Array, sign: int) -> Any:
        """The greatest or smallest 1-norm of a row."""
        sums = [functools.reduce(self.plus, map(self.size, row)) for row in a]
        return functools.reduce(self.plus, map(self.abs, a[self._extreme(sums, sign)]))

    def vector_norm(self, x: Array, *, ord: Any, axis: Any, keepdims: bool) -> Array:
        return self.over(lambda row: self._norm(row, ord), x, axis, keepdims)

    def _norm(self, row: list[Any], order: Any) -> Any:
        if not row:
            return self.scalar(0)
        zero = self.scalar(0)
        if order in ("inf", "-inf"):
            return self.abs(row[self._extreme([self.size(x) for x in row], 1 if order == "inf" else -1)])
        if order == 0:
            return self.scalar(sum(self._unlike_zero(x) for x in row))
        if order == 1:
            return functools.reduce(self.plus, map(self.abs, row))
        total = functools.reduce(self.plus, [self._size_to_power(x, order) for x in row])
        if order == -1:
            return self.quotient(self.scalar(1), total)
        if order > 0 and self._sign(total) == zero:
            return total
        if abs(order) == 2:
            root = self.function("sqrt", total)
            return root if order > 0 else self.quotient(self.scalar(1), root)
        return self.power(total, self.quotient(self.scalar(1), self.scalar(order)))

    def _unlike_zero(self, x: Any) -> bool:
        """Whether a number is not 0, a choice."""
        if not self.is_complex(x):
            return self._choice(x, self.scalar(0)) != 0
        self.choices.append(int(self.nonzero(x)))
        return bool(self.choices[-1])

    def size(self, x: Any) -> Any:
        """|x| without a choice: to be compared, and to be raised to a power."""
        if self.is_complex(x):
            return self.function("sqrt", self.squared_modulus(x)) if self.nonzero(x) else self.scalar(0)
        return -x if self.compare(x, self.scalar(0)) < 0 else x

    def _size_to_power(self, x: Any, n: int) -> Any:
        """|x|^n, which for n > 1 has a derivative at 0."""
        if n % 2 == 0 and self.is_complex(x):
            return self._integer_power(self.squared_modulus(x), n // 2)
        return self._integer_power(self.size(x) if n % 2 else x, n)

"""Linear algebra on object arrays: batches, shapes, signs, orders and norms. How a matrix is factored is the subclass's own.

A decomposition that is unique but for signs is turned to agree with the one that LAPACK gives for the matrix rounded to float64.
The columns that the matrix does not determine at all (of a complete q, of full u and vh) are LAPACK's, made orthonormal and
orthogonal to the others: the basis nearest to LAPACK's, whose derivative has no rotation inside the complement.
"""

from __future__ import annotations

import abc
import functools
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError
from gradfuzz.programs.linalg_numpy import LinalgNumpy
from gradfuzz.programs.precision import Precision
from gradfuzz.programs.product_objects import ProductObjects

__all__ = ["LinalgObjects"]

Array = Any
"""An object array of numbers; a single number where a result has no axes."""

_MODELS = 64
"""How many decompositions by LAPACK are remembered."""

_SAME = 2.0**-45
"""Two matrices are one matrix rounded twice where they differ by less than this share of their greatest entry."""

_NUMPY = LinalgNumpy()


class LinalgObjects(ProductObjects):
    """The linear-algebra ops. A subclass gives the algorithms, each for one matrix that has rows and columns."""

    def __init__(self, precision: Precision = "float64", trace: list[int] | None = None) -> None:
        super().__init__(precision, trace)
        self._models: deque[tuple[str, dict[str, Any], Any, Any]] = deque(maxlen=_MODELS)

    # What a subclass gives

    @abc.abstractmethod
    def nearest(self, x: Any) -> float:
        """The float64 next to a scalar, or one of two that are nearly as near."""

    @abc.abstractmethod
    def qr_of(self, a: Array) -> tuple[Array, Array]:
        """Q (m, n) with orthonormal columns and R (n, n) upper triangular, of A (m, n) with m >= n. Signs are free."""

    @abc.abstractmethod
    def lu_of(self, a: Array) -> tuple[list[int], Array, Array]:
        """The order of the rows, L (m, k) and U (k, n), k = min(m, n), with A[order] = L U; pivots are chosen by `pivot`."""

    @abc.abstractmethod
    def svd_of(self, a: Array) -> tuple[Array, Array, Array]:
        """U (m, n), S (n,) descending and V^T (n, n), of A (m, n) with m >= n. Signs are free."""

    @abc.abstractmethod
    def singular_values(self, a: Array) -> Array:
        """S (n,) descending, of A (m, n) with m >= n."""

    @abc.abstractmethod
    def eigh_of(self, a: Array) -> tuple[Array, Array]:
        """Eigenvalues (n,) ascending and orthonormal eigenvectors (n, n) as columns, of a symmetric matrix. Signs are free."""

    @abc.abstractmethod
    def eigenvalues(self, a: Array) -> Array:
        """Eigenvalues (n,) ascending, of a symmetric matrix."""

    @abc.abstractmethod
    def cholesky_of(self, a: Array) -> Array:
        """The lower factor, of a symmetric matrix."""

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

    # Batches

    def _over(self, op: str, one: Callable[..., Any], *arrays: Array, **params: Any) -> Any:
        """`one` on every matrix of the batch; a tuple of arrays where it gives a tuple. NumPy says what `op` is of empty arrays."""
        if any(a.size == 0 for a in arrays):
            return self._empty(op, arrays, params)
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
        spread = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
        results = [one(*(a[place] for a in spread)) for place in np.ndindex(*batch)]
        if isinstance(results[0], tuple):
            return tuple(_stacked(part, batch) for part in zip(*results, strict=True))
        return _stacked(results, batch)

    def _empty(self, op: str, arrays: Sequence[Array], params: dict[str, Any]) -> Any:
        values = getattr(_NUMPY, op)(*(np.zeros(a.shape) for a in arrays), **params)
        return tuple(map(self._numbers, values)) if isinstance(values, tuple) else self._numbers(values)

    def _numbers(self, values: Any) -> Array:
        """Floats as this arithmetic's own numbers, exactly."""
        return np.frompyfunc(lambda x: self.scalar(float(x)), 1, 1)(np.asarray(values))

    def _eye(self, m: int, n: int | None = None) -> Array:
        return self._numbers(np.eye(m, n))

    # Signs

    def _floats(self, a: Array) -> Any:
        return np.array([self.nearest(x) for x in a.ravel().tolist()], np.float64).reshape(a.shape)

    def _model(self, op: str, a: Array, **params: Any) -> Any:
        """What LAPACK gives for `a` rounded to float64; the same for a matrix that differs from an earlier one by that rounding."""
        here = self._floats(a)
        for known, options, matrix, result in self._models:
            if (known, options, matrix.shape) == (op, params, here.shape) and _close(matrix, here):
                return result
        with np.errstate(all="ignore"):
            result = getattr(_NUMPY, op)(here, **params)
        self._models.append((op, params, here, result))
        return result

    def _opposed(self, columns: Array, model: Any) -> Any:
        """Which columns point away from the model's."""
        with np.errstate(all="ignore"):
            opposed: Any = (self._floats(columns) * model).sum(axis=0) < 0
        return opposed

    def _completed(self, columns: Array, model: Any) -> Array:
        """The model's further columns, made orthonormal and orthogonal to `columns`."""
        further = self._numbers(model)
        inside = self.matmul(columns, self.matmul(columns.T, further))
        result, _ = self.qr_of(self.subtract(further, inside))
        return _turned(result, self._opposed(result, model))

    # Decompositions

    def qr(self, x: Array, *, mode: str) -> Any:
        return self._over("qr", lambda a: self._qr(a, mode), x, mode=mode)

    def _qr(self, a: Array, mode: str) -> tuple[Array, Array]:
        m, n = a.shape
        k = min(m, n)
        model, _ = self._model("qr", a, mode=mode)
        q, r = self.qr_of(a[:, :k])
        r = np.concatenate([r, self.matmul(q.T, a[:, k:])], axis=1) if n > k else r
        opposed = self._opposed(q, model[:, :k])
        q, r = _turned(q, opposed), _turned(r.T, opposed).T
        if mode == "complete" and m > k:
            q = np.concatenate([q, self._completed(q, model[:, k:])], axis=1)
            r = np.concatenate([r, self._numbers(np.zeros((m - k, n)))])
        return q, r

    def lu(self, x: Array) -> Any:
        return self._over("lu", self._lu, x)

    def _lu(self, a: Array) -> tuple[Array, Array, Array]:
        order, lower, upper = self.lu_of(a)
        p = np.zeros((len(order), len(order)))
        p[order, range(len(order))] = 1.0
        return self._numbers(p), lower, upper

    def pivot(self, candidates: Sequence[Any]) -> int:
        """Where the entry of greatest absolute value stands, the first of equals."""
        return self._extreme([self.size(x) for x in candidates], 1)

    def _extreme(self, row: Sequence[Any], sign: int) -> int:
        """Where the greatest (`sign` 1) or smallest (-1) entry stands, the first of equals.

        Its comparisons with the others are choices. The order of the others is none, so floats find the candidate.
        """
        floats = [sign * self.nearest(x) for x in row]
        best = floats.index(max(floats))
        for k in itertools.chain(range(best + 1, len(row)), range(best)):
            found = sign * self._choice(row[k], row[best])
            if found > 0 or (found == 0 and k < best):
                best = k
        return best

    def svd(self, x: Array, *, full_matrices: bool) -> Any:
        return self._over("svd", lambda a: self._svd(a, full_matrices), x, full_matrices=full_matrices)

    def _svd(self, a: Array, full: bool) -> tuple[Array, Array, Array]:
        m, n = a.shape
        k = min(m, n)
        model_u, _, model_vh = self._model("svd", a, full_matrices=full)
        u, s, vh = self.svd_of(a if m >= n else a.T)
        u, v = (u, vh.T) if m >= n else (vh.T, u)
        opposed = self._opposed(u, model_u[:, :k])
        u, v = _turned(u, opposed), _turned(v, opposed)
        if full and m > k:
            u = np.concatenate([u, self._completed(u, model_u[:, k:])], axis=1)
        if full and n > k:
            v = np.concatenate([v, self._completed(v, model_vh[k:].T)], axis=1)
        return u, s, v.T

    def svdvals(self, x: Array) -> Array:
        return self._over("svdvals", lambda a: self.singular_values(a if len(a) >= len(a.T) else a.T), x)

    def _symmetric(self, x: Array) -> Array:
        return self.multiply(self.add(x, np.swapaxes(x, -1, -2)), self.scalar(0.5))

    def eigh(self, x: Array) -> Any:
        return self._over("eigh", self._eigh, x)

    def _eigh(self, a: Array) -> tuple[Array, Array]:
        _, model = self._model("eigh", a)
        w, v = self.eigh_of(self._symmetric(a))
        return w, _turned(v, self._opposed(v, model))

    def eigvalsh(self, x: Array) -> Array:
        return self._over("eigvalsh", lambda a: self.eigenvalues(self._symmetric(a)), x)

    def cholesky(self, x: Array, *, upper: bool) -> Array:
        lower = self._over("cholesky", lambda a: self.cholesky_of(self._symmetric(a)), x, upper=False)
        return np.swapaxes(lower, -1, -2) if upper else lower

    # Solving

    def solve(self, a: Array, b: Array) -> Array:
        column = b.ndim == 1
        x = self._over("solve", self.solve_of, a, b[:, np.newaxis] if column else b)
        return x[..., 0] if column else x

    def triangular_solve(self, a: Array, b: Array, *, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Array:
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

    def pinv(self, x: Array) -> Array:
        return self._over("pinv", self.pinv_of, x)

    def lstsq(self, a: Array, b: Array) -> Array:
        return self.matmul(self.pinv(a), b)

    # Determinants and powers

    def det(self, x: Array) -> Array:
        return self._over("det", self.det_of, x)

    def slogdet(self, x: Array) -> tuple[Array, Array]:
        det = self.det(x)
        sign = self.sign(det)
        return sign, self.log(self.multiply(sign, det))

    def cofactor(self, x: Array, *directions: Array) -> Array:
        """D^k cof(X)[E1, ..., Ek] for k directions: each takes the place of one row of a minor, in every order of distinct rows."""
        return self._over("cofactor", self._cofactor, x, *directions)

    def _cofactor(self, a: Array, *directions: Array) -> Array:
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
        """k_ij / (y_j - x_i); where the gap is 0, k must be, and the result is 0. The diagonal is 0 where `hollow`."""
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
                raise DomainError("a derivative that depends on what a repeated eigenvalue or singular value leaves open")
        return result

    def vanishes(self, x: Any, among: Sequence[Any]) -> bool:
        """Whether a number is 0, as far as can be seen beside the others."""
        return self.compare(x, self.scalar(0)) == 0

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

    def expm(self, x: Array) -> Array:
        return self._over("expm", self.expm_of, x)

    # Norms

    def matrix_norm(self, x: Array, *, ord: Any, keepdims: bool) -> Array:
        """1 and inf choose a maximum of sums, -1 and -inf a minimum; 2, -2 and nuc are made of the singular values."""
        if x.size == 0:
            return self._empty("matrix_norm", [x], {"ord": ord, "keepdims": keepdims})
        if ord == "fro":
            return self.over(lambda row: self._norm(row, 2), x, (-2, -1), keepdims)
        if ord in (2, -2, "nuc"):
            s = self.svdvals(x)
            result = self.sum(s, axis=-1, keepdims=False) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
        else:
            lines = np.swapaxes(x, -1, -2) if ord in (1, -1) else x
            result = self._over("matrix_norm", lambda a: self._extreme_line(a, 1 if ord in (1, "inf") else -1), lines)
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
            return self.scalar(sum(self._choice(x, zero) != 0 for x in row))
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

    def size(self, x: Any) -> Any:
        """|x| without a choice: to be compared, and to be raised to a power."""
        return -x if self.compare(x, self.scalar(0)) < 0 else x

    def _size_to_power(self, x: Any, n: int) -> Any:
        """|x|^n, which for n > 1 has a derivative at 0."""
        return self._integer_power(self.size(x) if n % 2 else x, n)


def _stacked(entries: Sequence[Any], batch: tuple[int, ...]) -> Array:
    """Results of single matrices as one array."""
    if isinstance(entries[0], np.ndarray):
        return np.stack(entries).reshape(*batch, *entries[0].shape)
    result = np.empty(len(entries), object)
    for k, entry in enumerate(entries):
        result[k] = entry
    return result.reshape(batch)[()]


def _turned(columns: Array, opposed: Any) -> Array:
    result = columns.copy()
    result[:, opposed] = -columns[:, opposed]
    return result


def _close(a: Any, b: Any) -> bool:
    largest = np.abs(a).max(initial=0.0)
    return bool(np.all(np.abs(a - b) <= _SAME * largest))

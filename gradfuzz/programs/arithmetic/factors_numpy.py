"""Square matrices factored by elimination with row pivoting, A = P L U, and what is made of the factors.

`factored(a)` keeps the factors in one of three ways, by the size of the matrices and the length of the stack:

    _Eliminated    stacks of small matrices: all at once, column by column
    _ByNumpy       NumPy's own functions, which factor anew for each result
    _ByLapack      large matrices, one by one

A view that is transposed in memory counts as the transpose of what it is a view of. So a system with A^T is
solved by the factors of A, and the numbers do not depend on whether those were at hand.

Where a pivot is 0 the matrix is singular: solutions and the inverse are NaN, and the determinant is 0.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.per_matrix import each, not_a_number, real_dtype
from gradfuzz.programs.arithmetic.triangular_numpy import (
    batch_first,
    batch_last,
    invert_lower,
    substitute,
    substitute_by_blocks,
    tril,
    triu,
)

_MANY = 32
"""So many small matrices are eliminated at once."""

_SMALL, _SMALL_FOR_LU = 4, 8
"""How large they are at most. All but `lu` could have NumPy's own loop over the matrices instead."""

_LARGE = 24
"""From this size on LAPACK costs no more than NumPy's loop, and the factors are kept."""

_WIDE = 16
"""From so many right sides on, blocks are faster than LAPACK."""


class _Kept(abc.ABC):
    """`matrices` (..., n, n) and their factors."""

    matrices: Any

    @abc.abstractmethod
    def solve(self, b: Any, transposed: bool) -> Any:
        """X with A X = B, or A^T X = B, for B (..., n, k) whose batch axes broadcast."""

    @abc.abstractmethod
    def inv(self) -> Any:
        """The inverse."""

    @abc.abstractmethod
    def slogdet(self) -> tuple[Any, Any]:
        """det / |det|, 0 where singular, and log |det|."""

    def det(self) -> Any:
        sign, logabsdet = self.slogdet()
        with np.errstate(all="ignore"):
            return sign * np.exp(logabsdet)


class Factors:
    """Matrices that are factored, or their transposes."""

    def __init__(self, kept: _Kept, transposed: bool = False) -> None:
        self._kept, self._transposed = kept, transposed

    @property
    def T(self) -> Factors:  # noqa: N802 - as of an array
        """The transposes."""
        return Factors(self._kept, not self._transposed)

    @property
    def matrices(self) -> Any:
        found = self._kept.matrices
        return np.swapaxes(found, -1, -2) if self._transposed else found

    def solve(self, b: Any) -> Any:
        return self._kept.solve(b, self._transposed)

    def inv(self) -> Any:
        inverse = self._kept.inv()
        return np.swapaxes(inverse, -1, -2) if self._transposed else inverse

    def det(self) -> Any:
        return self._kept.det()[()]

    def slogdet(self) -> tuple[Any, Any]:
        sign, logabsdet = self._kept.slogdet()
        return sign[()], logabsdet[()]


def factored(a: Any) -> Factors:
    """Matrices (..., n, n), factored; what is factored already, as it is."""
    if isinstance(a, Factors):
        return a
    if not isinstance(a, np.ndarray):  # what records is for NumPy to dispatch
        return Factors(_ByNumpy(a))
    if abs(a.strides[-2]) < abs(a.strides[-1]):
        return factored(np.swapaxes(a, -1, -2)).T
    n = a.shape[-1]
    if a.size and n >= _LARGE:
        return Factors(_ByLapack(a))
    return Factors(_Eliminated(a) if _all_at_once(a, _SMALL) else _ByNumpy(a))


def lu(a: Any) -> tuple[Any, Any, Any]:
    """P (..., m, m), L (..., m, k) and U (..., k, n) of matrices (..., m, n), k = min(m, n)."""
    *batch, m, n = a.shape
    k = min(m, n)
    if m == n and _all_at_once(a, _SMALL_FOR_LU):
        found = _Eliminated(a)
        packed, order = batch_first(found.packed, tuple(batch)), found.order.T.reshape(*batch, m)
    else:
        packed, order = np.empty(a.shape, a.dtype), np.empty((*batch, m), int)
        for place in np.ndindex(*batch) if a.size else ():
            packed[place], order[place], _, _ = _by_getrf(a[place])
        order = order if a.size else np.broadcast_to(np.arange(m), order.shape)
    p = (np.arange(m)[:, np.newaxis] == order[..., np.newaxis, :]).astype(real_dtype(a))
    lower = tril(packed[..., :k], k=-1)
    np.einsum("...ii->...i", lower[..., :k, :])[...] = 1
    return p, lower, triu(packed[..., :k, :], k=0)


def _all_at_once(a: Any, small: int) -> bool:
    count: int = math.prod(a.shape[:-2])
    return count >= _MANY and 0 < a.shape[-1] <= small


# Stacks of small matrices -----------------------------------------------------------------------------------


class _Eliminated(_Kept):
    """All arrays have the batch last: `packed` (n, n, batch), U with the multipliers of L below its diagonal,
    and `order` (n, batch), the rows of A that P^T A has.
    """

    def __init__(self, a: Any) -> None:
        self.matrices, self._batch = a, a.shape[:-2]
        self.packed = np.array(batch_last(a))
        n, _, count = self.packed.shape
        self.order = np.repeat(np.arange(n)[:, np.newaxis], count, axis=1)
        self._odd, self._moved = np.zeros(count, bool), False
        with np.errstate(all="ignore"):
            for k in range(n - 1):
                self._pivot(k)
                self._eliminate(k)
        self._pivots = np.einsum("iib->ib", self.packed)
        self._singular = ~self._pivots.all(0)

    def _pivot(self, k: int) -> None:
        """Brings the entry of greatest absolute value, the first of equals, to the diagonal. Of complex ones
        it is |re| + |im|, as LAPACK has it.
        """
        column = self.packed[k:, k]
        sizes = np.abs(column) if column.dtype.kind != "c" else np.abs(column.real) + np.abs(column.imag)
        places = sizes.argmax(0)
        (moved,) = places.nonzero()
        if moved.size:
            self._moved = True
            places = places[moved] + k
            for rows in (self.packed, self.order):
                first = rows[k, ..., moved]
                rows[k, ..., moved] = rows[places, ..., moved]
                rows[places, ..., moved] = first
            self._odd[moved] ^= True

    def _eliminate(self, k: int) -> None:
        multipliers = self.packed[k + 1 :, k]
        pivot = self.packed[k, k]
        if not pivot.all():  # a pivot is 0 where the column is
            pivot = np.where(pivot == 0, pivot.dtype.type(1), pivot)
        multipliers /= pivot
        self.packed[k + 1 :, k + 1 :] -= multipliers[:, np.newaxis] * self.packed[k, k + 1 :]

    def solve(self, b: Any, transposed: bool) -> Any:
        if b.shape[:-2] != self._batch:
            batch = np.broadcast_shapes(self._batch, b.shape[:-2])
            if batch != self._batch:
                return _ByNumpy(self.matrices).solve(b, transposed)
            b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
        x = batch_last(b)
        order = self.order[:, np.newaxis]
        if transposed:
            found = np.array(x)
            substitute(self.packed.transpose(1, 0, 2), found, lower=True)
            substitute(self.packed.transpose(1, 0, 2), found, lower=False, unit_diagonal=True)
            x = found
            if self._moved:
                x = np.empty_like(found)
                np.put_along_axis(x, order, found, axis=0)
        else:
            x = np.take_along_axis(x, order, axis=0) if self._moved else np.array(x)
            self._substitute(x)
        return self._result(x)

    def inv(self) -> Any:
        numbers = np.arange(len(self.order))[:, np.newaxis]
        x = (self.order[:, np.newaxis] == numbers).astype(self.packed.dtype)
        self._substitute(x)
        return self._result(x)

    def _substitute(self, x: Any) -> None:
        substitute(self.packed, x, lower=True, unit_diagonal=True)
        substitute(self.packed, x, lower=False)

    def _result(self, x: Any) -> Any:
        if self._singular.any():
            x[..., self._singular] = not_a_number(x.dtype)
        return batch_first(x, self._batch)

    def slogdet(self) -> tuple[Any, Any]:
        sign, logabsdet = _slogdet(self._pivots, self._odd)
        return sign.reshape(self._batch), logabsdet.reshape(self._batch)


def _slogdet(pivots: Any, odd: Any) -> tuple[Any, Any]:
    """Of pivots (n, batch), and whether an odd number of rows were exchanged."""
    one = pivots.real.dtype.type(1)
    with np.errstate(all="ignore"):
        sizes = np.abs(pivots)
        signs = pivots / sizes if pivots.dtype.kind == "c" else np.copysign(one, pivots)
        sign = np.where(odd, -one, one) * signs.prod(0)
        logabsdet = np.log(sizes).sum(0)
    regular = sizes.all(0)
    if not regular.all():
        sign, logabsdet = np.where(regular, sign, 0 * one), np.where(regular, logabsdet, -np.inf * one)
    return sign, logabsdet


# Of middle size ---------------------------------------------------------------------------------------------


class _ByNumpy(_Kept):
    """Keeps the matrices alone."""

    def __init__(self, a: Any) -> None:
        self.matrices = a

    def solve(self, b: Any, transposed: bool) -> Any:
        return each(np.linalg.solve, np.swapaxes(self.matrices, -1, -2) if transposed else self.matrices, b)

    def inv(self) -> Any:
        return each(np.linalg.inv, self.matrices)

    def slogdet(self) -> tuple[Any, Any]:
        sign, logabsdet = np.linalg.slogdet(self.matrices)
        return sign, logabsdet

    def det(self) -> Any:
        return np.linalg.det(self.matrices)


# Large matrices ---------------------------------------------------------------------------------------------


class _ByLapack(_Kept):
    def __init__(self, a: Any) -> None:
        self.matrices = a
        self._batch, self._dtype, self._n = a.shape[:-2], a.dtype, a.shape[-1]
        self._factors = np.empty(self._batch, object)
        for place in np.ndindex(*self._batch):
            self._factors[place] = _by_getrf(a[place])

    def solve(self, b: Any, transposed: bool) -> Any:
        batch = np.broadcast_shapes(self._batch, b.shape[:-2])
        factors: Any = np.broadcast_to(self._factors, batch)
        b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
        x = np.empty(b.shape, self._dtype)
        for place in np.ndindex(*batch):
            x[place] = _solved(factors[place], b[place], transposed)
        return x

    def inv(self) -> Any:
        """Made as the inverse of the transposes, for which rows are exchanged and not columns. The inverse of
        U^T is lower triangular, too.
        """
        inverse = np.empty((*self._batch, self._n, self._n), self._dtype)
        for place in np.ndindex(*self._batch):
            packed, order, _, singular = self._factors[place]
            if singular:
                inverse[place] = not_a_number(self._dtype)
                continue
            x = np.eye(self._n, dtype=self._dtype)
            invert_lower(packed.T, x)
            substitute_by_blocks(packed.T, x, lower=False, unit_diagonal=True)
            inverse[place][order] = x
        return np.swapaxes(inverse, -1, -2)

    def slogdet(self) -> tuple[Any, Any]:
        factors = self._factors.ravel().tolist()
        pivots = np.stack([packed.diagonal() for packed, *_ in factors], axis=-1)
        swaps = np.stack([swaps for _, _, swaps, _ in factors])
        odd = np.count_nonzero(swaps != np.arange(self._n), axis=-1) % 2
        sign, logabsdet = _slogdet(pivots, odd)
        return sign.reshape(self._batch), logabsdet.reshape(self._batch)


@functools.cache
def _lapack(char: str) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(("getrf", "getrs", "laswp"), dtype=np.dtype(char))


def _by_getrf(a: Any) -> tuple[Any, Any, Any, bool]:
    """L and U in one array, the rows of A that P^T A has, LAPACK's exchanges of rows, and whether a pivot is
    0.
    """
    getrf, _, laswp = _lapack(a.dtype.char)
    packed, swaps, status = getrf(a)
    numbers = np.arange(len(a), dtype=a.dtype)[:, np.newaxis]
    order = laswp(numbers, swaps)[:, 0].real.astype(int)
    return packed, order, swaps, status > 0


def _solved(factors: tuple[Any, Any, Any, bool], b: Any, transposed: bool) -> Any:
    packed, order, swaps, singular = factors
    if singular:
        return not_a_number(b.dtype)
    if b.shape[-1] < _WIDE:
        _, getrs, _ = _lapack(b.dtype.char)
        return getrs(packed, swaps, b, trans=int(transposed))[0]
    if not transposed:
        x = b[order]
        substitute_by_blocks(packed, x, lower=True, unit_diagonal=True)
        substitute_by_blocks(packed, x, lower=False)
        return x
    x = np.array(b, order="C")
    substitute_by_blocks(packed.T, x, lower=True)
    substitute_by_blocks(packed.T, x, lower=False, unit_diagonal=True)
    result = np.empty_like(x)
    result[order] = x
    return result

"""Stacks of matrices of Python numbers: one matrix at a time, and beside it LAPACK's answer for it, which
settles signs and phases; the ops that factor nothing.
"""

from __future__ import annotations

import abc
import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.linalg_numpy import LinalgNumpy
from gradfuzz.programs.arithmetic.object_namespace import ObjectNamespace
from gradfuzz.programs.language.precision import Precision

Array = Any
"""An object array of numbers; a single number where a result has no axes."""

_MODELS = 64
"""How many decompositions by LAPACK are remembered."""

_SAME = 2.0**-45
"""Two matrices that differ by less than this share of their greatest entry are one rounded twice."""

_NUMPY = LinalgNumpy()


class MatrixObjects(ObjectNamespace):
    """What all linear algebra on object arrays is made with."""

    def __init__(self, precision: Precision = "float64", trace: list[int] | None = None) -> None:
        super().__init__(precision, trace)
        self._models: deque[tuple[str, dict[str, Any], Any, Any]] = deque(maxlen=_MODELS)

    @abc.abstractmethod
    def nearest(self, x: Any) -> float:
        """The float64 next to a real scalar, or one of two that are nearly as near."""

    # Batches

    def _over(self, op: str, one: Callable[..., Any], *arrays: Array, **params: Any) -> Any:
        """`one` on every matrix of the batch; a tuple of arrays where it gives a tuple. NumPy says what `op`
        is of empty arrays.
        """
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
        """Floats or complex floats as this arithmetic's own numbers, exactly."""
        array = np.asarray(values)
        one = self.from_complex if array.dtype.kind == "c" else lambda x: self.scalar(float(x))
        return np.frompyfunc(one, 1, 1)(array)

    def _eye(self, m: int, n: int | None = None) -> Array:
        return self._numbers(np.eye(m, n))

    def has_complex(self, *arrays: Array) -> bool:
        return any(any(map(self.is_complex, a.ravel().tolist())) for a in arrays)

    def adjoint(self, a: Array) -> Array:
        """The conjugate transpose; the transpose of a real matrix."""
        transposed = np.swapaxes(a, -1, -2)
        return self.conj(transposed) if self.has_complex(a) else transposed

    # LAPACK's answer

    def _floats(self, a: Array) -> Any:
        if not self.has_complex(a):
            return np.array([self.nearest(x) for x in a.ravel().tolist()], np.float64).reshape(a.shape)
        parts = [self.parts(self.promoted(x)) for x in a.ravel().tolist()]
        numbers = [complex(self.nearest(re), self.nearest(im)) for re, im in parts]
        return np.array(numbers, np.complex128).reshape(a.shape)

    def _model(self, op: str, a: Array, **params: Any) -> Any:
        """What LAPACK gives for `a` rounded to float64; the same for a matrix that differs from an earlier
        one by that rounding.
        """
        here = self._floats(a)
        for known, options, matrix, result in self._models:
            alike = (matrix.shape, matrix.dtype) == (here.shape, here.dtype)
            if alike and (known, options) == (op, params) and _close(matrix, here):
                return result
        with np.errstate(all="ignore"):
            result = getattr(_NUMPY, op)(here, **params)
        self._models.append((op, params, here, result))
        return result

    def _opposed(self, columns: Array, model: Any) -> Any:
        """Which columns point away from the model's."""
        with np.errstate(all="ignore"):
            opposed: Any = (self._floats(columns) * np.conj(model)).sum(axis=0).real < 0
        return opposed

    def _turns(self, columns: Array, model: Any) -> Array:
        """How each of `columns` is turned to point where the model's points: real ones by a sign, complex
        ones by a phase.
        """
        if not self.has_complex(columns):
            return self._opposed(columns, model)
        pairs = zip(columns.T, np.transpose(model), strict=True)
        return _stacked([self.phase(column, self._numbers(one)) for column, one in pairs], (-1,))

    def phase(self, column: Array, model: Array) -> Any:
        """The p of modulus 1 for which the inner product of p `column` and `model` is positive."""
        product = self.promoted(self.sum(self.multiply(self.conj(column), model), axis=None, keepdims=False))
        if not self.nonzero(product):
            return self.scalar(1)
        return self.quotient(product, self.function("sqrt", self.squared_modulus(product)))

    def _turned(self, columns: Array, turns: Array) -> Array:
        return self.multiply(columns, turns) if turns.dtype == object else signed(columns, turns)

    # Diagonals, triangles and products: entries are moved, multiplied and summed

    def trace(self, x: Array, *, offset: int) -> Array:
        return self.sum(np.diagonal(x, offset, -2, -1), axis=-1, keepdims=False)

    def diagonal(self, x: Array, *, offset: int) -> Array:
        return np.diagonal(x, offset, -2, -1)

    def tril(self, x: Array, *, k: int) -> Array:
        return self._triangle(x, np.tri(x.shape[-2], x.shape[-1], k) == 1)

    def triu(self, x: Array, *, k: int) -> Array:
        return self._triangle(x, np.tri(x.shape[-2], x.shape[-1], k - 1) == 0)

    def _triangle(self, x: Array, kept: Any) -> Array:
        result = x.copy()
        result[..., ~kept] = self.scalar(0) if x.dtype == object else x.dtype.type(0)
        return result

    def outer(self, a: Array, b: Array) -> Array:
        return self.multiply(a[:, np.newaxis], b[np.newaxis, :])

    def kron(self, a: Array, b: Array) -> Array:
        product = self.multiply(a[..., :, np.newaxis, :, np.newaxis], b[..., np.newaxis, :, np.newaxis, :])
        *batch, m, p, n, q = product.shape
        return product.reshape(*batch, m * p, n * q)

    def einsum(self, *arrays: Array, subscripts: str) -> Array:
        """All products, summed over the letters that the result has not."""
        left, _, out = subscripts.replace(" ", "").partition("->")
        terms = left.split(",")
        letters = out + "".join(sorted(set("".join(terms)) - set(out)))
        operands = [aligned(letters, term, self.as_array(x)) for term, x in zip(terms, arrays, strict=True)]
        product = functools.reduce(self.multiply, operands)
        rest = tuple(range(len(out), len(letters)))
        return self.sum(product, axis=rest, keepdims=False) if rest else self.as_array(product)[()]


def signed(columns: Array, opposed: Any) -> Array:
    """The columns, those that are `opposed` negated."""
    result = columns.copy()
    result[:, opposed] = -columns[:, opposed]
    return result


def _stacked(entries: Sequence[Any], batch: tuple[int, ...]) -> Array:
    """Results of single matrices as one array."""
    if isinstance(entries[0], np.ndarray):
        return np.stack(entries).reshape(*batch, *entries[0].shape)
    result = np.empty(len(entries), object)
    for k, entry in enumerate(entries):
        result[k] = entry
    return result.reshape(batch)[()]


def _close(a: Any, b: Any) -> bool:
    largest = np.abs(a).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # an infinity is close to nothing
        return bool(np.all(np.abs(a - b) <= _SAME * largest))


def aligned(letters: str, term: str, array: Array) -> Array:
    """An operand of `einsum` with one axis for each of `letters`, of size 1 where it has not that letter. Its
    axes are named by `term`.
    """
    for letter in letters:
        while term.count(letter) > 1:
            i, j = (k for k, c in enumerate(term) if c == letter and term[:k].count(letter) < 2)
            array = np.diagonal(array, 0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + letter
    order = sorted(range(len(term)), key=lambda k: letters.index(term[k]))
    return np.transpose(array, order).reshape(
        [array.shape[term.index(c)] if c in term else 1 for c in letters]
    )

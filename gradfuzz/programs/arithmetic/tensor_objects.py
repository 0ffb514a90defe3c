"""The tensor ops on arrays of Python numbers, for the references: every selection they make is kept in the
trace.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.syntax import ParamValue

Array = Any
"""An object array of numbers, an int or bool array, or a single number."""


def of_numbers(ints: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """An op on numbers; on ints and bools it is NumPy's own function `ints`."""

    def decorated(op: Callable[..., Any]) -> Any:
        def method(self: Any, x: Any, **params: Any) -> Any:
            return op(self, x, **params) if self.as_array(x).dtype == object else ints(x, **params)

        return method

    return decorated


class TensorObjects:
    """Folds and selections by the namespace's own arithmetic and its `choose`.

    A trace tells what a selection depended on and no more: of a greatest entry, which entries are equal to
    it, but not the order of the others.
    """

    def over(
        self: Any, function: Callable[[list[Any]], Any], x: Any, axis: ParamValue, keepdims: bool
    ) -> Any:
        """`function` of the entries over `axis` (None: all), for each place along the other axes."""
        array = self.as_array(x)
        axes = normalize_axes(axis, array.ndim, "a reduction")
        kept = [a for a in range(array.ndim) if a not in axes]
        count, size = (math.prod(array.shape[a] for a in some) for some in (kept, axes))
        rows = np.transpose(array, [*kept, *axes]).reshape(count, size)
        result = np.empty(count, object)
        for k in range(count):
            result[k] = function(list(rows[k]))
        shape = [1 if a in axes else n for a, n in enumerate(array.shape) if keepdims or a in kept]
        return result.reshape(shape)[()]

    def _along(self: Any, function: Callable[[list[Any]], Sequence[Any]], x: Array, axis: int) -> Array:
        """`function` of each row along an axis, which gives a row of the same length."""
        result = np.empty(x.shape, object)
        source, target = np.moveaxis(x, axis, -1), np.moveaxis(result, axis, -1)
        for place in np.ndindex(source.shape[:-1]):
            for k, entry in enumerate(function(list(source[place]))):
                target[(*place, k)] = entry
        return result

    # Extremes

    def _winner(self: Any, row: list[Any], sign: int) -> int:
        """Where the first greatest (`sign` 1) or smallest (-1) entry stands."""
        best = 0
        for k in range(1, len(row)):
            if sign * self.choose(row[k], row[best]) > 0:
                best = k
        self.choices.extend(self.choose(entry, row[best]) for entry in row)
        return best

    @of_numbers(np.max)
    def amax(self: Any, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return self.over(lambda row: row[self._winner(row, 1)], x, axis, keepdims)

    @of_numbers(np.min)
    def amin(self: Any, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return self.over(lambda row: row[self._winner(row, -1)], x, axis, keepdims)

    @of_numbers(np.argmax)
    def argmax(self: Any, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return np.asarray(self.over(lambda row: self._winner(row, 1), x, axis, keepdims), np.int64)[()]

    @of_numbers(np.argmin)
    def argmin(self: Any, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return np.asarray(self.over(lambda row: self._winner(row, -1), x, axis, keepdims), np.int64)[()]

    # Order

    def _order(self: Any, row: list[Any]) -> list[int]:
        """The positions in ascending order of the entries; of equal ones the first comes first."""

        def compare(i: int, j: int) -> int:
            sign: int = self.choose(row[i], row[j])
            return sign

        order: list[int] = sorted(range(len(row)), key=functools.cmp_to_key(compare))
        self.choices.extend(order)
        self.choices.extend(self.choose(row[i], row[j]) for i, j in itertools.pairwise(order))
        return order

    @of_numbers(np.sort)
    def sort(self: Any, x: Array, *, axis: int) -> Array:
        return self._along(lambda row: [row[k] for k in self._order(row)], x, axis)

    @of_numbers(functools.partial(np.argsort, kind="stable"))
    def argsort(self: Any, x: Array, *, axis: int) -> Array:
        return self._along(self._order, x, axis).astype(np.int64)

    # Scans

    @of_numbers(np.cumprod)
    def cumulative_prod(self: Any, x: Array, *, axis: int) -> Array:
        return self._scan(self.times, x, axis)

    @of_numbers(np.maximum.accumulate)
    def cumulative_max(self: Any, x: Array, *, axis: int) -> Array:
        return self._scan(lambda old, new: new if self._choice(new, old) > 0 else old, x, axis)

    def _scan(self: Any, combine: Callable[[Any, Any], Any], x: Array, axis: int) -> Array:
        def scanned(row: list[Any]) -> list[Any]:
            for k in range(1, len(row)):
                row[k] = combine(row[k - 1], row[k])
            return row

        return self._along(scanned, x, axis)

    # Exponentials: these numbers have a range that needs no shift

    def logsumexp(self: Any, x: Any, *, axis: ParamValue, keepdims: bool) -> Any:
        return self.log(self.sum(self.exp(x), axis=axis, keepdims=keepdims))

    def softmax(self: Any, x: Array, *, axis: int) -> Array:
        powers = self.exp(x)
        return self.divide(powers, self.sum(powers, axis=axis, keepdims=True))

    def log_softmax(self: Any, x: Array, *, axis: int) -> Array:
        return self.log(self.softmax(x, axis=axis))

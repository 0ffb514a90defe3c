"""The tensor ops on NumPy arrays: `TensorArrays` for entries of any kind, `TensorNumpy` for machine floats.

`TensorArrays` moves entries, and where it computes it does so with the namespace's own add, multiply and sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gradfuzz.errors import DomainError
from gradfuzz.programs.language.windows import padding_of, strides_of

Array = Any
"""A NumPy array of floats, ints, bools or objects, or a scalar of such a kind."""


def methods(*functions: Callable[..., Any]) -> list[Any]:
    """Functions as methods of a namespace."""
    return [staticmethod(f) for f in functions]


def in_range(indices: Any, size: int) -> Any:
    """`indices`, an int or an array of any library; `DomainError` where one is not from 0 to size - 1."""
    array = indices if hasattr(indices, "shape") else np.asarray(indices)
    wrong = (array < 0) | (array >= size)
    if bool(wrong.any()):
        first = int(array[wrong].ravel()[0])
        allowed = "indices are from 0 to the size less 1"
        raise DomainError(f"index {first} is outside an axis of size {size}; {allowed}")
    return indices


def placed(x: Array, axis: int, indices: Any) -> tuple[Any, ...]:
    """What stands between the brackets to index `axis` (counted from the front) of `x`."""
    return (*[slice(None)] * axis, in_range(indices, x.shape[axis]))


def sliding(x: Array, zero: Any, window: Sequence[int], strides: Any, padding: Any) -> Array:
    """Views of `x`, padded with `zero`, over its first len(window) axes: (places..., further axes...,
    window...).
    """
    count = len(window)
    pairs = padding_of(padding, count)
    padded = x
    if any(map(any, pairs)):
        sizes = [before + n + after for n, (before, after) in zip(x.shape, pairs, strict=False)]
        padded = np.empty((*sizes, *x.shape[count:]), x.dtype)
        padded[...] = zero
        padded[tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, pairs, strict=False))] = x
    if 0 in padded.shape[:count]:
        whole = [max(0, n - w + 1) for n, w in zip(padded.shape, window, strict=False)]
        views = np.empty((*whole, *padded.shape[count:], *window), x.dtype)
    else:
        views = sliding_window_view(padded, window, axis=tuple(range(count)))
    return views[tuple(slice(None, None, s) for s in strides_of(strides, count))]


class TensorArrays:
    """The ops that take a namespace's own arithmetic, or none at all."""

    def take(self: Any, x: Array, indices: Any, *, axis: int) -> Array:
        array = self.as_array(x)
        return array[placed(array, axis % array.ndim, indices)]

    def take_along_axis(self: Any, x: Array, indices: Any, *, axis: int) -> Array:
        return np.take_along_axis(x, in_range(indices, x.shape[axis]), axis)

    def scatter_add(self: Any, x: Array, indices: Any, updates: Array, *, axis: int) -> Array:
        """One addition after the other: repeated indices add up."""
        result = self.as_array(x).copy()
        moved, places, rows = self._scattered(result, indices, updates, axis)
        for place, row in zip(places.tolist(), rows, strict=True):
            moved[place, ...] = self.as_array(self.add(moved[place], row))
        return result

    def _scattered(
        self: Any, x: Array, indices: Any, updates: Array, axis: int
    ) -> tuple[Array, Array, Array]:
        """`x` with the axis first, the indices as one row, and one update for each of them."""
        axis %= x.ndim
        places = np.asarray(in_range(indices, x.shape[axis]))
        moved = np.moveaxis(self.as_array(updates), range(axis, axis + places.ndim), range(places.ndim))
        rest = moved.shape[places.ndim :]
        return np.moveaxis(x, axis, 0), places.ravel(), moved.reshape((places.size, *rest))

    def window_sum(self: Any, x: Array, *, window: Any, strides: Any, padding: Any) -> Array:
        views = sliding(x, self.as_array(self.constant(0.0)), window, strides, padding)
        return self.sum(views, axis=tuple(range(x.ndim, views.ndim)), keepdims=False)

    def conv(self: Any, x: Array, kernel: Array, *, strides: Any, padding: Any) -> Array:
        views = self._patches(x, kernel, strides, padding)
        spread = kernel.reshape(1, *kernel.shape[:2], *[1] * (x.ndim - 2), *kernel.shape[2:])
        products = self.multiply(views[:, np.newaxis], spread)
        return self.sum(products, axis=(2, *range(x.ndim + 1, products.ndim)), keepdims=False)

    def _patches(self: Any, x: Array, kernel: Array, strides: Any, padding: Any) -> Array:
        """What the kernel meets: (batch, channels, places..., window...)."""
        spatial = np.moveaxis(x, (0, 1), (-2, -1))
        count = x.ndim - 2
        views = sliding(spatial, self.as_array(self.constant(0.0)), kernel.shape[2:], strides, padding)
        return np.moveaxis(views, (count, count + 1), (0, 1))

    def clip(self: Any, x: Array, lower: Array, upper: Array) -> Array:
        return self.minimum(self.maximum(x, lower), upper)

    all, any = methods(np.all, np.any)


class TensorNumpy(TensorArrays):
    """The same with NumPy's own functions, where it has them."""

    amax, amin, argmax, argmin = methods(np.max, np.min, np.argmax, np.argmin)
    cumulative_prod, cumulative_max, sort = methods(np.cumprod, np.maximum.accumulate, np.sort)

    def argsort(self, x: Array, *, axis: int) -> Array:
        return np.argsort(x, axis, kind="stable")

    def scatter_add(self, x: Array, indices: Any, updates: Array, *, axis: int) -> Array:
        result = np.array(x, np.result_type(x, updates))
        moved, places, rows = self._scattered(result, indices, updates, axis)
        np.add.at(moved, places, rows)
        return result

    def conv(self, x: Array, kernel: Array, *, strides: Any, padding: Any) -> Array:
        views = self._patches(x, kernel, strides, padding)
        window = range(x.ndim, views.ndim)
        return np.moveaxis(np.tensordot(views, kernel, ((1, *window), (1, *range(2, kernel.ndim)))), -1, 1)

    def logsumexp(self, x: Array, *, axis: Any, keepdims: Any) -> Array:
        """Shifted by the greatest entry, so that nothing overflows; infinite entries are left where
        they are.
        """
        shift = _shift(x, axis)
        total = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
        return total if keepdims else np.squeeze(total, axis)[()]

    def softmax(self, x: Array, *, axis: int) -> Array:
        powers = np.exp(x - _shift(x, axis))
        return powers / np.sum(powers, axis=axis, keepdims=True)

    def log_softmax(self, x: Array, *, axis: int) -> Array:
        shifted = x - _shift(x, axis)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _shift(x: Array, axis: Any) -> Array:
    greatest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(greatest), greatest, x.dtype.type(0))

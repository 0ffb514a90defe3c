"""Tensor ops in perturbed arithmetic: lanes stay last, sums lose like sums, selections must exceed noise."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import numpy as np

from gradfuzz.fuzzer.tolerance.lanes import MANY, Array, has_lanes, is_complex, joined
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.arithmetic.tensor_numpy import in_range, placed, sliding
from gradfuzz.programs.language.axes import normalize_axes


class TensorLanes:
    """A part of `PerturbedNamespace`."""

    # Functions

    def _shift(self: Any, x: Array, axis: Any) -> Array:
        """Each lane's largest entry. Its choice does not matter: the result is the same for any shift."""
        return np.asarray(np.max(x, axis=normalize_axes(axis, x.ndim - 1, "a reduction"), keepdims=True))

    def plus_shift(self: Any, size: Array, shift: Array) -> Array:
        """What is added to a shift in the end. A sum with a float is off by the other summand at most, so by
        no more than what is lost beside a large shift.
        """
        lost = np.abs(size) / self.scale < self.eps * np.abs(shift)
        return np.where(lost, size + shift, self.add(size, shift))

    def logsumexp(self: Any, x: Array, *, axis: Any, keepdims: bool) -> Array:
        shift = self._shift(x, axis)
        size = self.log(self.sum(self.exp(self.subtract(x, shift)), axis=axis, keepdims=True))
        result = self.plus_shift(size, shift)
        return result if keepdims else np.squeeze(result, normalize_axes(axis, x.ndim - 1, "a reduction"))

    def softmax(self: Any, x: Array, *, axis: int) -> Array:
        if x.size == 0:
            return x
        powers = self.exp(self.subtract(x, self._shift(x, axis)))
        return self.divide(powers, self.sum(powers, axis=axis, keepdims=True))

    def log_softmax(self: Any, x: Array, *, axis: int) -> Array:
        if x.size == 0:
            return x
        shifted = self.subtract(x, self._shift(x, axis))
        return self.subtract(shifted, self.log(self.sum(self.exp(shifted), axis=axis, keepdims=True)))

    # Selections

    def _winner(self: Any, x: Array, pick: Callable[..., Any], axis: Any) -> tuple[Array, Array]:
        """The position of an extreme, with the reduced axes as a last axis of size 1; the entries as rows."""
        axes = normalize_axes(axis, x.ndim - 1, "a reduction")
        kept = [a for a in range(x.ndim - 1) if a not in axes]
        shape = *(x.shape[a] for a in kept), math.prod(x.shape[a] for a in axes), self.width
        rows = np.transpose(x, [*kept, *axes, x.ndim - 1]).reshape(shape)
        where = pick(rows[..., 0], axis=-1, keepdims=True)
        best = np.take_along_axis(rows, where[..., np.newaxis], axis=-2)
        self._alike(np.where(rows == best, 0.0, np.subtract(rows, best)))  # infinities may be equal
        return where, best

    def _extreme(self: Any, pick: Any, plain: Any, x: Array, *, axis: Any, keepdims: bool) -> Array:
        if not has_lanes(x):
            return plain(x, axis=axis, keepdims=keepdims)
        _, best = self._winner(x, pick, axis)
        return _shaped(best[..., 0, :], x.shape[:-1], axis, keepdims, (self.width,))

    def _where_extreme(self: Any, pick: Any, x: Array, *, axis: Any, keepdims: bool) -> Any:
        if not has_lanes(x):
            return pick(x, axis=axis, keepdims=keepdims)
        where, _ = self._winner(x, pick, axis)
        return _shaped(where[..., 0], x.shape[:-1], axis, keepdims, ())[()]

    amax, amin = partialmethod(_extreme, np.argmax, np.max), partialmethod(_extreme, np.argmin, np.min)
    argmax, argmin = partialmethod(_where_extreme, np.argmax), partialmethod(_where_extreme, np.argmin)

    def argsort(self: Any, x: Array, *, axis: int) -> Array:
        if not has_lanes(x):
            return np.argsort(x, axis, kind="stable")
        axis %= x.ndim - 1
        order = np.argsort(x[..., 0], axis, kind="stable")
        self._alike(np.diff(np.take_along_axis(x, order[..., np.newaxis], axis), axis=axis))
        return order

    def sort(self: Any, x: Array, *, axis: int) -> Array:
        if not has_lanes(x):
            return np.sort(x, axis)
        axis %= x.ndim - 1
        return np.take_along_axis(x, self.argsort(x, axis=axis)[..., np.newaxis], axis)

    def clip(self: Any, x: Array, lower: Array, upper: Array) -> Array:
        return self.minimum(self.maximum(x, lower), upper)

    all, any = staticmethod(np.all), staticmethod(np.any)

    # Scans and windows

    def cumulative_prod(self: Any, x: Array, *, axis: int) -> Array:
        if not has_lanes(x):
            return np.cumprod(x, axis=axis)
        axis %= x.ndim - 1
        self.see_partial_products(x, (axis,))
        return self._keep(np.cumprod(x * (1.0 + self._draws(x, self._product)), axis=axis))

    def cumulative_max(self: Any, x: Array, *, axis: int) -> Array:
        if not has_lanes(x):
            return np.maximum.accumulate(x, axis)
        result = x.copy()
        along = np.moveaxis(result, axis % (x.ndim - 1), 0)
        for k in range(1, len(along)):
            greater = np.asarray(self._sign(along[k], along[k - 1]) > 0)
            along[k] = np.where(greater[..., np.newaxis], along[k], along[k - 1])
        return result

    def window_sum(self: Any, x: Array, *, window: Any, strides: Any, padding: Any) -> Array:
        rank = x.ndim - 1
        views = np.moveaxis(sliding(x, 0.0, window, strides, padding), rank, -1)
        return self.sum(views, axis=tuple(range(rank, 2 * rank)), keepdims=False)

    def conv(self: Any, x: Array, kernel: Array, *, strides: Any, padding: Any) -> Array:
        spatial = x.ndim - 3
        x, kernel = self.operand(x), self.operand(kernel)
        inner = np.moveaxis(x, (0, 1), (spatial, spatial + 1))
        count = math.prod(kernel.shape[1:-1])
        views = sliding(inner, 0.0, kernel.shape[2:-1], strides, padding)
        views = np.moveaxis(np.moveaxis(views, spatial + 2, -1), (spatial, spatial + 1), (0, 1))
        if math.prod(views.shape[: 2 + spatial]) // max(x.shape[1], 1) * math.prod(kernel.shape[:-1]) >= MANY:
            plain = functools.partial(NumpyNamespace("float64").conv, strides=strides, padding=padding)
            return self.contracted(plain, count, x, kernel)
        spread = kernel.reshape(1, *kernel.shape[:2], *[1] * spatial, *kernel.shape[2:])
        products = self.multiply(views[:, np.newaxis], spread)
        return self.sum(products, axis=(2, *range(3 + spatial, products.ndim - 1)), keepdims=False)

    # Gathering and scattering

    def take(self, x: Array, indices: Any, *, axis: int) -> Any:
        return x[placed(x, axis % (x.ndim - has_lanes(x)), indices)]

    def take_along_axis(self, x: Array, indices: Any, *, axis: int) -> Array:
        lanes = has_lanes(x)
        axis %= x.ndim - lanes
        places = in_range(indices, x.shape[axis])
        return np.take_along_axis(x, places[..., np.newaxis] if lanes else places, axis)

    def scatter_add(self: Any, x: Array, indices: Any, updates: Array, *, axis: int) -> Array:
        """Each addition may lose a unit of the sizes added so far, as the order is not fixed."""
        lanes = has_lanes(x)
        if lanes and is_complex(x):
            parts = (x.real, updates.real), (x.imag, updates.imag)
            return joined(*(self.scatter_add(a, indices, b, axis=axis) for a, b in parts))
        axis %= x.ndim - lanes
        places = np.asarray(in_range(indices, x.shape[axis]))
        rows = np.moveaxis(updates, range(axis, axis + places.ndim), range(places.ndim))
        rows = rows.reshape(places.size, *rows.shape[places.ndim :])
        result = x.copy()
        moved = np.moveaxis(result, axis, 0)
        if not lanes:
            np.add.at(moved, places.ravel(), rows)
            return result
        sizes = np.abs(moved)
        for place, row in zip(places.ravel().tolist(), rows, strict=True):
            sizes[place] += np.abs(row)
            moved[place] += row + sizes[place] * (self._factors(self._sum, row.shape) - 1.0)
        return self._keep(result)


def _shaped(
    result: Array, shape: tuple[int, ...], axis: Any, keepdims: bool, lanes: tuple[int, ...]
) -> Array:
    if not keepdims:
        return result
    axes = normalize_axes(axis, len(shape), "a reduction")
    return result.reshape(*(1 if a in axes else n for a, n in enumerate(shape)), *lanes)

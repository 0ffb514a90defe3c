"""The tensor ops as functions: extremes, scans, windows, convolution, sorting, gathering and scattering."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.engine.rules.functions import from_front
from gradfuzz.engine.rules.value import Operand, apply

Axis = int | tuple[int, ...] | None
Strides = tuple[int, ...] | None
Padding = tuple[tuple[int, int], ...] | None


def log1p(x: Operand) -> Any:
    """log(1 + x) of x > -1, elementwise."""
    return apply("log1p", x)


def expm1(x: Operand) -> Any:
    """exp(x) - 1, elementwise."""
    return apply("expm1", x)


def clip(x: Operand, lower: Operand, upper: Operand) -> Any:
    """minimum(maximum(x, lower), upper), elementwise; at a tie each side gets half the derivative."""
    return apply("clip", x, lower, upper)


def amax(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The greatest entry over axes (None: all); entries that tie share the derivative equally."""
    return apply("amax", x, axis=axis, keepdims=keepdims)


def amin(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest entry over axes (None: all); entries that tie share the derivative equally."""
    return apply("amin", x, axis=axis, keepdims=keepdims)


def argmax(x: Operand, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the first greatest entry stands along an axis (None: in row-major order). It has no
    derivative.
    """
    return apply("argmax", x, axis=axis, keepdims=keepdims)


def argmin(x: Operand, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the first smallest entry stands along an axis (None: in row-major order). It has no
    derivative.
    """
    return apply("argmin", x, axis=axis, keepdims=keepdims)


def all(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether all bools over axes (None: all) are true."""
    return apply("all", x, axis=axis, keepdims=keepdims)


def any(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether one of the bools over axes (None: all) is true."""
    return apply("any", x, axis=axis, keepdims=keepdims)


def cumulative_prod(x: Operand, *, axis: int = 0) -> Any:
    """Running product along an axis; differentiable where entries are 0."""
    return apply("cumulative_prod", x, axis=axis)


def cumulative_max(x: Operand, *, axis: int = 0) -> Any:
    """Running maximum along an axis; entries that tie share the derivative equally."""
    return apply("cumulative_max", x, axis=axis)


def logsumexp(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes (None: all), without overflow."""
    return apply("logsumexp", x, axis=axis, keepdims=keepdims)


def softmax(x: Operand, *, axis: int = -1) -> Any:
    """exp(x) divided by its sum along an axis, without overflow."""
    return apply("softmax", x, axis=axis)


def log_softmax(x: Operand, *, axis: int = -1) -> Any:
    """x minus its logsumexp along an axis."""
    return apply("log_softmax", x, axis=axis)


def sort(x: Operand, *, axis: int = -1) -> Any:
    """Ascending along an axis. Of entries that tie, the first comes first, and the derivatives go
    with them.
    """
    return apply("sort", x, axis=axis)


def argsort(x: Operand, *, axis: int = -1) -> Any:
    """The positions along an axis in ascending order of the entries; of equal ones the first comes first. It
    has no derivative.
    """
    return apply("argsort", x, axis=axis)


def take(x: Operand, indices: Operand, *, axis: int) -> Any:
    """The entries of an axis at int `indices`, whose own axes stand in its place. Negative ones count from
    the end.
    """
    return apply("take", x, from_front(indices, np.shape(x)[axis]), axis=axis)


def take_along_axis(x: Operand, indices: Operand, *, axis: int) -> Any:
    """For each place the entry of `axis` that `indices` names there; the other axes broadcast. Negative ones
    count from the end.
    """
    return apply("take_along_axis", x, from_front(indices, np.shape(x)[axis]), axis=axis)


def scatter_add(x: Operand, indices: Operand, updates: Operand, *, axis: int) -> Any:
    """x with `updates` added at int `indices` of `axis`; repeated indices add up. The updates have the shape
    of `take(x, indices)`.
    """
    return apply("scatter_add", x, from_front(indices, np.shape(x)[axis]), updates, axis=axis)


def window_sum(
    x: Operand, window: tuple[int, ...], *, strides: Strides = None, padding: Padding = None
) -> Any:
    """Sums over a window that slides over all axes of x.

    `window` and `strides` (None: 1) have one int per axis, `padding` (None: none) one pair of counts of zeros
    before and after.
    """
    return apply("window_sum", x, window=window, strides=strides, padding=padding)


def conv(x: Operand, kernel: Operand, *, strides: Strides = None, padding: Padding = None) -> Any:
    """Cross-correlation of x (N, C, spatial...) with a kernel (O, C, spatial...): (N, O, places...), for 1 or
    2 spatial axes.

    `strides` (None: 1) has one int per spatial axis, `padding` (None: none) one pair of counts of zeros
    before and after.
    """
    return apply("conv", x, kernel, strides=strides, padding=padding)

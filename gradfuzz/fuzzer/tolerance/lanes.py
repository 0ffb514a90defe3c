"""Common parts of perturbed arithmetic: values with lanes, and complex numbers of two such values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = Any
"""A float64 or complex128 array whose last axis holds the lanes, or an int or bool array without lanes."""


LANES = 8
"""Per point: one exact, five random, two biased."""

DRAWN = 6
"""The lanes after the first up to this one round at random."""

FEW = (0, 1, 2, 6)
"""The lanes of one point whose arrays are large: of so many entries the noise of each needs fewer draws."""

FEW_DRAWN = sum(lane < DRAWN for lane in FEW)
"""The exact lane and those that round at random, which come first."""

MANY = 2**14
"""Sums over so many numbers, and products made of as many, are perturbed as a whole."""

_BLOCK = 2**16
"""Arrays of more numbers are looked at part by part."""

_INEXACT = "dD"
"""NumPy's letters of float64 and complex128: comparing letters takes a third of comparing dtypes."""


def has_lanes(x: Any) -> bool:
    """Whether a value is float or complex. Ints and bools are Python scalars, or arrays of another dtype."""
    return isinstance(x, np.ndarray) and x.dtype.char in _INEXACT


def lanes_first(x: Array) -> Array:
    """The same with its last axis first."""
    rank = x.ndim
    return x.transpose(rank - 1, *range(rank - 1))


def lanes_last(x: Array) -> Array:
    """The same with its first axis last."""
    return x.transpose(*range(1, x.ndim), 0)


def is_complex(x: Any) -> bool:
    return bool(x.dtype.char == "D")


def joined(re: Any, im: Any) -> Array:
    """re + i im, with every bit of both parts kept."""
    result = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), np.complex128)
    result.real, result.imag = re, im
    return result


def lanes_in(width: int) -> int:
    """How many lanes a point has in an array of this width."""
    return min(width, LANES)


def per_point(x: Array) -> Array:
    """The same lanes with an axis of points before them."""
    lanes = lanes_in(x.shape[-1])
    return x.reshape(*x.shape[:-1], x.shape[-1] // lanes, lanes)


def spread(lanes: Array) -> Array:
    """How far the other lanes, the last axis, are from the first one at most."""
    found = np.zeros_like(lanes[..., 0], np.float64)
    for part, most in in_blocks(lanes, found[..., np.newaxis]):
        exact, most = part[..., 0], most[..., 0]
        apart = np.empty_like(exact)
        sizes = np.empty_like(most) if is_complex(exact) else apart
        for k in range(1, part.shape[-1]):
            np.abs(np.subtract(part[..., k], exact, out=apart), out=sizes)
            np.maximum(most, sizes, out=most)
    return found


def in_blocks(x: Array, *others: Array) -> Iterator[tuple[Array, ...]]:
    """The parts of an array along an axis but the last, small enough for a processor's cache: of the axes
    that are long enough, the one whose neighbours lie farthest apart. With them those of others that have the
    same axes but the last.
    """
    if x.size <= _BLOCK or x.ndim < 2:
        yield x, *others
        return
    *counts, _ = x.shape
    least = min(x.size / _BLOCK, max(counts))
    axis = max((k for k, count in enumerate(counts) if count >= least), key=lambda k: abs(x.strides[k]))
    arrays = [np.moveaxis(a, axis, 0) for a in (x, *others)]
    step = max(1, _BLOCK * counts[axis] // x.size)
    for k in range(0, counts[axis], step):
        yield tuple(a[k : k + step] for a in arrays)


def of_exact(x: Array) -> Array:
    """Each point's exact lane, repeated in all its lanes."""
    lanes = lanes_in(x.shape[-1])
    return np.repeat(x[..., ::lanes], lanes, axis=-1)

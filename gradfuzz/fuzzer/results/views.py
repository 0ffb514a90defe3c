"""The view of its array that an argument is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.results.call import Argument
from gradfuzz.libraries.layouts import Layout
from gradfuzz.oracles.base import Array

Shape = tuple[int, ...]


def seen(argument: Argument) -> Array:
    """The entries of the view that an argument is."""
    array = np.asarray(argument.array)
    if argument.layout == "transposed":
        return array.swapaxes(-1, -2)
    if argument.layout == "stepped":
        return array[..., ::2]
    return np.repeat(array, 2, axis=0) if argument.layout == "expanded" else array


def owners(argument: Argument) -> Array:
    """The number of each entry of the view in its array."""
    stored = np.asarray(argument.array)
    return seen(replace(argument, array=np.arange(stored.size).reshape(stored.shape)))


def pulled(argument: Argument, entries: Array, of: Array | None = None) -> Array:
    """The gradient by the array of which an argument is a view, from that by the view's entries, or by
    entries that belong to those `of` the array.
    """
    stored, places = np.asarray(argument.array), owners(argument) if of is None else of
    return np.bincount(places.ravel(), np.ravel(entries), stored.size).reshape(stored.shape)


def can_be(shape: Shape, layout: Layout) -> bool:
    """Whether an array of this shape can be such a view."""
    if layout == "transposed":
        return len(shape) > 1
    if layout == "stepped":
        return len(shape) > 0
    return layout == "contiguous" or shape[:1] == (2,)


def stored(shape: Shape, layout: Layout) -> Shape:
    """The shape of the array of which a view of this shape is taken."""
    if layout == "transposed":
        return (*shape[:-2], shape[-1], shape[-2])
    if layout == "stepped":
        return (*shape[:-1], 2 * shape[-1])
    return (1, *shape[1:]) if layout == "expanded" else shape


def shape_of(array: Shape, layout: Layout) -> Shape:
    """The shape of the view of an array."""
    if layout == "stepped":
        return (*array[:-1], (array[-1] + 1) // 2)
    return (2, *array[1:]) if layout == "expanded" else stored(array, layout)

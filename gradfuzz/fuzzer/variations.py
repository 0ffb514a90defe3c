"""A specimen with other numbers: what shrinking tries where a smaller one is wrong too, but in another class.

The class of a wrong gradient is that of its worst entry, and which one that is depends on the numbers. Where instances are mixed up, of
two with cotangents 1 and c both get 1 + c: a wrong value for c = 1, a sign flip for c = -16, a blowup for c = 16, missing for c = -1, and
spurious where the first one is 0. So one instance is weighted like that, or its matrix scaled where the weights do not tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.specimen import Specimen
from gradfuzz.oracles.base import Array
from gradfuzz.programs.precision import is_float

__all__ = ["ordinary", "regular", "variations"]

_SHARES = (-1.0, 16.0, -16.0, 1 / 16, -1 / 16, 0.0)
"""What the last instance weighs where the others weigh 1."""

_SCALES = (0.25, -1.0, -0.25)
"""How the last instance of an input is scaled."""

_NUMBERS = ((0.5,), (2.0,), (-0.5,), (0.5, 2.0), (2.0, -0.5), (-2.0, 3.0), (0.01,))
"""Inputs of a program of scalars, in turn."""


def variations(specimen: Specimen) -> Iterator[Specimen]:
    """The specimen with other weights; at other inputs; with both. Program, shapes and companions stay."""
    several = _weighs(specimen)
    arrays = any(p.type.is_float and p.type.shape for p in specimen.program.params)
    if several:
        yield from _weighted(specimen)
    if not arrays:
        for numbers in _NUMBERS:
            yield _at(specimen, numbers)
        return
    regular_one = ordinary(specimen)
    yield regular_one
    for scale in _SCALES:
        yield _scaled(regular_one.mapped(np.ones_like), scale)
    if several:
        yield from _weighted(regular_one)


def ordinary(specimen: Specimen) -> Specimen:
    """The specimen at matrices and with weights that hide nothing: what is left of larger ones may have ties, or be equal where only a
    difference shows. Inputs of the sizes that the program says.
    """
    inputs = {
        p.name: regular(p.type.sizes).astype(specimen.precision) if p.type.is_float and p.type.shape else specimen.inputs[p.name]
        for p in specimen.program.params
    }
    return replace(specimen.mapped(_signed), inputs=inputs)


def regular(shape: tuple[int, ...]) -> Array:
    """Matrices with a heavy diagonal that differs between instances, or a vector with a step between its entries; multiples of 1/8."""
    places = np.arange(math.prod(shape)).reshape(shape)
    entries: Array = (places * 5 % 7 - 3) / 8
    if len(shape) < 2:
        return entries + places + 1.5
    instances = np.arange(math.prod(shape[:-2])).reshape((*shape[:-2], 1, 1)) / 2
    rows = np.arange(shape[-2])[:, np.newaxis]
    return np.where(rows == np.arange(shape[-1]), instances + rows + 2.0, entries)


def _signed(weights: Array) -> Array:
    """Weights of either sign, which differ."""
    places = np.arange(weights.size).reshape(weights.shape)
    result: Array = (places % 5 + 4) * (-1.0) ** places / 8
    return result


def _weighs(specimen: Specimen) -> bool:
    """Whether there is more than one weight: a single one scales the whole gradient, and its class with it."""
    return sum(np.size(w) for w in specimen.weights if w is not None) > 1


def _weighted(specimen: Specimen) -> Iterator[Specimen]:
    """All weights 1 but those of the last instance, along the first axis; of several outputs, but those of the last output."""
    for share in _SHARES:
        weights: list[Array | None] = [None if w is None else np.ones_like(w) for w in specimen.weights]
        last = next((w for w in reversed(weights) if w is not None), None)
        if last is None:
            return
        if last.ndim and len(last) > 1:
            last[-1] = share
        else:
            last[...] = share
        yield replace(specimen, weights=tuple(weights))


def _scaled(specimen: Specimen, scale: float) -> Specimen:
    """The specimen with the last instance of every array of floats scaled."""

    def scaled(x: Array) -> Array:
        if not is_float(x.dtype) or x.ndim == 0 or len(x) < 2:
            return x
        return np.concatenate([x[:-1], x[-1:] * x.dtype.type(scale)])

    return replace(specimen, inputs={name: scaled(x) for name, x in specimen.inputs.items()})


def _at(specimen: Specimen, numbers: tuple[float, ...]) -> Specimen:
    floats = [p.name for p in specimen.program.params if p.type.is_float]
    values = np.resize(np.array(numbers), len(floats)).tolist()
    inputs = {name: np.full_like(specimen.inputs[name], v) for name, v in zip(floats, values, strict=True)}
    return replace(specimen, inputs={**specimen.inputs, **inputs})

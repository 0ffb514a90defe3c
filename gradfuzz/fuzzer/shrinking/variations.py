"""A candidate with other numbers: tried where a smaller candidate is wrong too, but in another class.

The class of a wrong gradient is that of its worst entry, and the numbers decide which entry that is. Where a
bug mixes up instances, of two with cotangents 1 and c both get 1 + c: a wrong value for c = 1, a sign flip
for c = -4, a blowup for c = 16, missing for c = -1, and spurious where the first one is 0. So one instance
gets such a weight, or its matrix is scaled where the weights do not tell the instances apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.questions.axes import spliced
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.program import Program

_SHARES = (-1.0, 16.0, -4.0, 1 / 16, -1 / 4, 0.0)
"""Weights of the last instance where the others have weight 1."""

_SCALES = (0.25, -1.0, -0.25)
"""Scales of the last instance of an input."""

_NUMBERS = ((0.5,), (2.0,), (-0.5,), (3.0,), (0.5, 2.0), (2.0, -0.5), (-2.0, 3.0), (0.01,))
"""Inputs that are single numbers, in turn."""


def variations(candidate: Candidate) -> Iterator[Candidate]:
    """The candidate with other weights and directions, at other inputs, or both. Program and shapes stay."""
    floats = [p for p in candidate.program.params if p.type.is_float]
    yield from _weighted(candidate)
    if any(p.type.shape for p in floats):
        plain = ordinary(candidate)
        yield plain
        for scale in _SCALES:
            yield _scaled(plain.mapped(np.ones_like), scale)
        yield from _weighted(plain)
    if not all(p.type.shape for p in floats):
        for numbers in _NUMBERS:
            yield _at(candidate, numbers)


def ordinary(candidate: Candidate) -> Candidate:
    """The candidate at regular matrices with weights that hide nothing.

    What is left of larger matrices may have ties, or be equal where only a difference shows. Inputs have the
    sizes that the program declares.
    """
    inputs = {p.name: candidate.inputs[p.name] for p in candidate.program.params}
    arrays = [p for p in candidate.program.params if p.type.is_float and p.type.shape]
    inputs |= {p.name: regular(p.type.sizes).astype(candidate.precision) for p in arrays}
    return replace(candidate.mapped(_signed), inputs=inputs)


def regular(shape: tuple[int, ...]) -> Array:
    """Matrices with a heavy diagonal that differs between instances, or a vector with distinct entries.

    All entries are multiples of 1/8.
    """
    places = np.arange(math.prod(shape)).reshape(shape)
    entries: Array = (places * 5 % 7 - 3) / 8
    if len(shape) < 2:
        return entries + places + 1.5
    instances = np.arange(math.prod(shape[:-2])).reshape((*shape[:-2], 1, 1)) / 2
    rows = np.arange(shape[-2])[:, np.newaxis]
    return np.where(rows == np.arange(shape[-1]), instances + rows + 2.0, entries)


def as_singular(candidate: Candidate, changed: Program) -> Candidate | None:
    """A changed program at matrices as close to singular as the candidate's; None where these are not near.

    What is left of a larger matrix is seldom near a singular one, and `ordinary` matrices never are. Here the
    last row is the first one again, but for a step of the size of the smallest singular value.
    """
    inputs = {p.name: candidate.inputs[p.name] for p in candidate.program.params if p.type.is_float}
    matrices = [v for v in inputs.values() if v.ndim >= 2 and v.size and np.isfinite(v).all()]
    steps = [np.linalg.svd(v.astype(np.float64), compute_uv=False)[..., -1].min() for v in matrices]
    if not steps or min(steps) > _NEAR:
        return None
    plain = ordinary(replace(candidate, program=changed))
    singular = dict(plain.inputs)
    for p in changed.params:
        if p.name in inputs and p.type.rank >= 2 and min(p.type.sizes[-2:]) > 1:
            value = singular[p.name].copy()
            value[..., -1, :] = value[..., 0, :]
            value[..., -1, -1] += value.dtype.type(min(steps))
            singular[p.name] = value
    return replace(plain, inputs=singular)


_NEAR = 1e-3
"""A smallest singular value below this is near 0: the drawn entries are of the size of 1."""


def _signed(weights: Array) -> Array:
    """Weights of either sign, all different."""
    places = np.arange(weights.size).reshape(weights.shape)
    result: Array = (places % 5 + 4) * (-1.0) ** places / 8
    return result


def _weighted(candidate: Candidate) -> Iterator[Candidate]:
    """All weights and directions 1, but those of the last instance.

    The last instance is the last entry along the first axis, or the last output or input. The weights are
    varied and, at higher order, the directions. A single one scales the whole gradient, so there is nothing
    to try.
    """
    plain = candidate.mapped(np.ones_like)
    weights = [(k, w) for k, w in enumerate(plain.weights) if w is not None]
    directions = plain.directions if len(plain.modes) > 1 else {}
    for share in _SHARES:
        if sum(w.size for _, w in weights) > 1:
            last, w = weights[-1]
            yield replace(plain, weights=spliced(plain.weights, last, _ending(w, share)))
        if sum(v.size for v in directions.values()) > 1:
            name, v = list(directions.items())[-1]
            yield replace(plain, directions={**directions, name: _ending(v, share)})


def _ending(ones: Array, share: float) -> Array:
    """Ones, with another number in the last place along the first axis, or as the only one."""
    result = ones.copy()
    if result.ndim and len(result) > 1:
        result[-1] = share
    else:
        result[...] = share
    return result


def _scaled(candidate: Candidate, scale: float) -> Candidate:
    """The candidate with the last instance of every float array scaled."""

    def scaled(x: Array) -> Array:
        if not is_float(x.dtype) or x.ndim == 0 or len(x) < 2:
            return x
        return np.concatenate([x[:-1], x[-1:] * x.dtype.type(scale)])

    return replace(candidate, inputs={name: scaled(x) for name, x in candidate.inputs.items()})


def _at(candidate: Candidate, numbers: tuple[float, ...]) -> Candidate:
    scalars = [p.name for p in candidate.program.params if p.type.is_float and not p.type.shape]
    values = np.resize(np.array(numbers), len(scalars)).tolist()
    inputs = {name: np.full_like(candidate.inputs[name], v) for name, v in zip(scalars, values, strict=True)}
    return replace(candidate, inputs={**candidate.inputs, **inputs})

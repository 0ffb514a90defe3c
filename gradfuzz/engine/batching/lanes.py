"""Batch axes, and the common parts of the batching rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.engine.rules.functions import broadcast_to, reshape, stack, sum
from gradfuzz.engine.rules.value import CASTS, DTYPES, Operand, Value, apply, innermost, shape_of, zeros_as
from gradfuzz.programs.language.ops import result_type
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import DType, Type

Params = Mapping[str, ParamValue]


def dtype_of(x: Operand) -> DType:
    """The dtype: "complex", "float", "int" or "bool"."""
    return x.type.dtype if isinstance(x, Value) else DTYPES.get(np.asarray(x).dtype.kind, "float")


@dataclass(frozen=True, slots=True)
class Lanes:
    """The batch axes: `shape` has their sizes."""

    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def count(self) -> int:
        """The number of instances."""
        return math.prod(self.shape)

    def instance(self, x: Operand, batched: bool) -> tuple[int, ...]:
        """The shape of one instance of `x`."""
        return shape_of(x)[self.rank :] if batched else shape_of(x)

    def slices(self) -> tuple[ParamValue, ...]:
        """The part of an index pattern that keeps the batch axes."""
        return tuple(("slice", 0, n) for n in self.shape)

    def padded(self, x: Operand, rank: int, core: int = 0) -> Operand:
        """A batched `x` whose instances get size-1 axes before their last `core` axes, up to `rank`."""
        own = self.instance(x, True)
        if len(own) >= rank:
            return x
        split = len(own) - core
        return reshape(x, (*self.shape, *[1] * (rank - len(own)), *own[:split], *own[split:]))

    def spread(self, x: Operand, batched: bool) -> Operand:
        """`x` with the batch axes, repeated along them if it was not batched."""
        return x if batched else broadcast_to(x, (*self.shape, *shape_of(x)))


BatchRule = Callable[[Lanes, Sequence[Operand], Sequence[bool], Params], Any]


def one_by_one(op: str) -> BatchRule:
    """The fallback rule: the op on each instance, and the results stacked."""

    def rule(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
        places = np.ndindex(*lanes.shape)
        results = [
            apply(op, *[x[k] if b else x for x, b in zip(args, batched, strict=True)], **params)
            for k in places
        ]
        if not results:
            types = [Type(dtype_of(x), lanes.instance(x, b)) for x, b in zip(args, batched, strict=True)]
            result = result_type(op, tuple(types), params)
            return zeros(args, result.dtype, (*lanes.shape, *sizes_of(result.shape)))
        joined = stack(results)
        return reshape(joined, (*lanes.shape, *shape_of(joined)[1:]))

    return rule


def sizes_of(value: ParamValue) -> tuple[int, ...]:
    """A parameter that is a shape or a tuple of axes."""
    assert isinstance(value, tuple), "the type rule lets nothing else through"
    return tuple(n for n in value if isinstance(n, int))


def axis_of(params: Params, rank: int) -> int:
    """The parameter `axis`, counted from the front of arrays of `rank` axes."""
    axis = params["axis"]
    assert isinstance(axis, int), "the type rule lets nothing else through"
    return axis % rank


def zeros(like: Sequence[Operand], dtype: DType, shape: tuple[int, ...]) -> Operand:
    """Zeros, traced if one of `like` is."""
    home = innermost(like)
    if home is not None:
        return zeros_as(home, Type(dtype, shape))
    return np.zeros(shape, CASTS[dtype])


def checked(x: Operand, indices: Sequence[tuple[Operand, int, int]]) -> Any:
    """`x`, or an error for an index outside its range, `(indices, first, end)`, in any instance.

    The error comes from an index into an axis of size 1.
    """
    outside: Any = None
    for i, first, end in indices:
        wrong = apply("logical_or", i < first, i >= end)
        outside = wrong if outside is None else apply("logical_or", outside, wrong)
    count = sum(apply("astype", outside, dtype="int"))
    shape = shape_of(x)
    return apply("index", reshape(x, (1, *shape)), count, pattern=("at", *(("slice", 0, n) for n in shape)))

"""Axes as the static parameters of ops name them."""

from __future__ import annotations

from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import fail


def normalize_axis(axis: ParamValue, rank: int, op: str) -> int:
    """`axis` counted from the front; ProgramTypeError where the array has no such axis."""
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        fail(f"{op} over axis {axis!r} of an array of rank {rank}; an axis is an int in [-{rank}, {rank})")
    return axis % rank


def normalize_axes(axis: ParamValue, rank: int, op: str) -> tuple[int, ...]:
    """`axis` (None: all) as sorted distinct axes counted from the front."""
    if axis is None:
        return tuple(range(rank))
    axes = [normalize_axis(a, rank, op) for a in (axis if isinstance(axis, tuple) else (axis,))]
    if len(set(axes)) != len(axes):
        fail(f"{op} over axes {axis!r} names an axis twice")
    return tuple(sorted(axes))

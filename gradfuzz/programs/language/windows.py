"""Windows that slide over the axes of an array: strides, zero padding, and how many places a window has."""

from __future__ import annotations

from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import fail

Pairs = tuple[tuple[int, int], ...]


def is_size(n: ParamValue, least: int) -> bool:
    """Whether a parameter is an int of at least `least`; a bool is none."""
    return isinstance(n, int) and not isinstance(n, bool) and n >= least


def sizes_of(value: ParamValue, count: int, op: str, what: str) -> tuple[int, ...]:
    """`value` as `count` positive ints; `ProgramTypeError` for anything else."""
    if not (isinstance(value, tuple) and len(value) == count and all(is_size(n, 1) for n in value)):
        per = f"{count} ints >= 1, one per axis that it slides over"
        fail(f"{op} takes {what} as a tuple of {per}, not {value!r}")
    return tuple(n for n in value if isinstance(n, int))


def strides_of(strides: ParamValue, count: int, op: str = "a window") -> tuple[int, ...]:
    """The step of the window along each axis; None is 1 everywhere."""
    return (1,) * count if strides is None else sizes_of(strides, count, op, "strides")


def padding_of(padding: ParamValue, count: int, op: str = "a window") -> Pairs:
    """The zeros put before and after each axis; None is none."""
    if padding is None:
        return ((0, 0),) * count
    pairs: list[tuple[int, int]] = []
    for pair in padding if isinstance(padding, tuple) else ():
        match pair:
            case (int(before), int(after)) if is_size(before, 0) and is_size(after, 0):
                pairs.append((before, after))
    if not isinstance(padding, tuple) or not len(pairs) == len(padding) == count:
        fail(f"{op} takes padding as a tuple of {count} pairs (before, after) of ints >= 0, not {padding!r}")
    return tuple(pairs)


def places(size: int, window: int, stride: int, padding: tuple[int, int], op: str) -> int:
    """How many places a window has on a padded axis; an axis of no entries at all has none.

    `ProgramTypeError` where the window is longer than the padded axis.
    """
    padded = padding[0] + size + padding[1]
    if padded == 0:
        return 0
    if window > padded:
        fail(f"{op} with a window of {window} on an axis of {padded} with its padding; it must fit")
    return (padded - window) // stride + 1

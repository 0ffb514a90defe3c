"""Shapes of stacks of matrices (batch axes, then two matrix axes) and of arrays of any rank."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal, get_args

from hypothesis import strategies as st

from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.validation import check_choices, check_int

Shape = tuple[int, ...]
Aspect = Literal["square", "tall", "wide"]

BATCHES: Odds[Shape] = Odds(
    (30, ()), (20, (2,)), (14, (1,)), (14, (3,)), (12, (2, 3)), (4, (1, 2)), (6, (0,))
)
"""Batch axes, the plain matrix first. Rank 4 is two batch axes; an empty batch has a gradient, too."""

_SIZES: Odds[int] = Odds((30, 2), (30, 3), (15, 4), (10, 1), (8, 5), (7, 6))


@functools.cache
def _sizes(least: int, most: int) -> Odds[int]:
    return _SIZES.where(lambda size: least <= size <= most)


@functools.cache
def _batches(empty: bool, least: int) -> Odds[Shape]:
    return BATCHES.where(lambda batch: len(batch) >= least and (empty or 0 not in batch))


def draw_batch(dice: Dice, *, empty: bool = True, least: int = 0) -> Shape:
    """At least `least` batch axes; without `empty` none of them is 0."""
    return dice.weighted(_batches(empty, least))


_OTHERS: Odds[Callable[[Shape], Shape]] = Odds(
    (52, lambda batch: batch[1:]), (18, lambda batch: (1,) * len(batch)), (30, lambda batch: (2, *batch)[-2:])
)


def draw_other_batch(dice: Dice, batch: Shape) -> Shape:
    """Batch axes that broadcast with `batch`: one axis fewer, axes of 1, or one more (at most two)."""
    return dice.weighted(_OTHERS)(batch)


def draw_size(dice: Dice, aspect: Aspect, max_side: int, batch: Shape, *, least: int = 1) -> tuple[int, int]:
    """Rows and columns, at least `least` where `max_side` allows.

    Sometimes n is the batch size: some bugs keep the right shape only then.
    """
    table = _sizes(min(least, max_side), max_side)
    n = dice.weighted(table)
    if batch and least <= batch[-1] <= max_side and dice.chance(20):
        n = batch[-1]
    if aspect == "square":
        return n, n
    more = min(max_side, n + 1 + dice.below(2))
    n = min(n, more - 1) if more > 1 else 1
    n = max(n, 1)
    return (more, n) if aspect == "tall" else (n, more)


_RANKS: Odds[int] = Odds((30, 2), (26, 1), (22, 3), (12, 4), (10, 0))
_LENGTHS: Odds[int] = Odds((34, 2), (26, 3), (22, 1), (10, 4), (4, 5), (4, 0))
MAX_ENTRIES = 24
"""The most entries an array of a tensor program starts with: second derivatives have the square of it."""


def draw_array(dice: Dice, *, empty: bool = True) -> Shape:
    """The shape of an array of rank 0 to 4.

    Sometimes all axes have the same length: some bugs keep the right shape only then.
    """
    lengths = _LENGTHS if empty else _LENGTHS.where(lambda n: n > 0)
    rank = dice.weighted(_RANKS)
    if rank > 1 and dice.chance(15):
        return (dice.weighted(lengths),) * rank if rank < 4 else (2,) * rank
    shape: list[int] = []
    for _ in range(rank):
        n = dice.weighted(lengths)
        shape.append(n if math.prod(shape) * n <= MAX_ENTRIES else 1)
    return tuple(shape)


@st.composite
def shapes(
    draw: Draw,
    *,
    aspects: tuple[Aspect, ...] = ("square", "tall", "wide"),
    max_side: int = 6,
    empty: bool = True,
) -> Shape:
    """Shapes of stacks of matrices: batch axes (), (1,), (2,), (3,), (1, 2), (2, 3) and, with `empty`, (0,);
    sides 1 to `max_side`.

    Shrinks towards (2, 2).
    """
    check_choices("aspects", aspects, get_args(Aspect))
    check_int("max_side", max_side, 2)
    dice = Dice(draw)
    batch = draw_batch(dice, empty=empty)
    return (*batch, *draw_size(dice, dice.pick(aspects), max_side, batch))

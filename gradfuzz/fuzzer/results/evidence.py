"""What a report shows beside a finding's three points, as data: curves, tables of variants, step sizes,
adjoints.

Curve        the derivative as one input entry varies
Variant      the same question with one thing changed: the loop's body or form, dtype, mode, order, batch, way
Differences  central differences against their step: the error is not one of a step size
Adjoints     the derivative by a loop's carry before each trip
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradfuzz.fuzzer.results.report_card import Label


@dataclass(frozen=True, slots=True)
class Sample:
    """One point of a curve. The numbers are of the entry that the curve is about; NaN where the truth or the
    answer has none.
    """

    x: float
    expected: float
    bound: float
    got: float
    allowed: float
    label: Label


@dataclass(frozen=True, slots=True)
class Curve:
    """One entry of the derivative where one entry of one input takes other values, everything else as at the
    smallest point.
    """

    varied: tuple[str, tuple[int, ...]]
    """The input entry that takes the values `x`."""
    entry: tuple[str, tuple[int, ...]]
    """The entry of the derivative that is shown, as in `FindingPoint.entry`."""
    samples: tuple[Sample, ...]
    """By ascending x."""


class Aspect(enum.Enum):
    """What a variant changes."""

    BODY = "loop body"
    SIGN = "sign"
    DTYPE = "dtype"
    LOOP = "loop form"
    MODE = "mode"
    ORDER = "order"
    BATCH = "batch"
    WAY = "way"
    """How the library is asked: with jit or without, another function of it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The target asked something else in one respect. Numbers are of the worst entry, and of the finding's
    where nothing differs; None where there is none.
    """

    aspect: Aspect
    name: str
    """As in "acc * x", "float32", "while loop", "jax:scan:nojit"."""
    at: str
    """The point, as in "x = 0.5, 3 trips"; empty where it is the finding's smallest."""
    expected: float | None
    bound: float | None
    got: float | None
    ratio: float | None
    label: Label


@dataclass(frozen=True, slots=True)
class Step:
    """A central difference of the program in float64 with this step, and its distance from the truth."""

    h: float
    error: float


@dataclass(frozen=True, slots=True)
class Differences:
    """How near differences of the value come to the truth at the smallest point, and how far the
    target is.
    """

    entry: tuple[str, tuple[int, ...]]
    expected: float
    got: float
    target_error: float
    steps: tuple[Step, ...]
    """By ascending h."""


@dataclass(frozen=True, slots=True)
class Adjoints:
    """The derivative of the result by a carry as it enters each trip, first trip first; of an array the sum
    of its entries.
    """

    carry: str
    expected: tuple[float, ...]
    got: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All of it; what could not be measured is None or empty."""

    curve: Curve | None = None
    variants: tuple[Variant, ...] = ()
    differences: Differences | None = None
    adjoints: Adjoints | None = None

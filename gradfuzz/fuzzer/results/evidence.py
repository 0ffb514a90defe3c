"""What a report shows beside a finding's three points, as data.

Curve      the derivative as one input entry varies
Variant    the same question with one thing changed: the loop's body or form, dtype, mode, order, batch, way
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradfuzz.fuzzer.results.report_card import Label


@dataclass(frozen=True, slots=True)
class Sample:
    """One point of a curve. The numbers are of the curve's entry; NaN where truth or answer has none."""

    x: float
    expected: float
    bound: float
    got: float
    allowed: float
    label: Label


@dataclass(frozen=True, slots=True)
class Curve:
    """A derivative as a function of one entry of one input, everything else as at the smallest point."""

    varied: tuple[str, tuple[int, ...]]
    """The input entry whose values are `x`."""
    entry: tuple[str, tuple[int, ...]]
    """The entry of the derivative, as in `FindingPoint.entry`."""
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
    """How the library is asked: with jit or without, by another of its functions."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The target's answer with one thing changed.

    Numbers are of the worst entry, of the finding's entry where nothing differs, and None where there is
    none.
    """

    aspect: Aspect
    name: str
    """As in "acc * x", "float32", "while loop", "jax:scan:nojit"."""
    at: str
    """The point, as in "x = 0.5, 3 trips"; empty at the finding's smallest point."""
    expected: float | None
    bound: float | None
    got: float | None
    ratio: float | None
    label: Label


@dataclass(frozen=True, slots=True)
class Evidence:
    """All evidence; what could not be measured is None or empty."""

    curve: Curve | None = None
    variants: tuple[Variant, ...] = ()

"""Numbers for people: with enough digits to see a difference, and no more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from gradfuzz.oracles.base import Array

K = TypeVar("K")

_DIGITS = 7  # what a float32 holds; more only where two numbers would look the same
_MOST = 17  # tells any two float64 apart
_LEAST_SHARE = 2.0**-53  # of a float64: a number that is nearer is the same


def number(value: float, digits: int = _DIGITS) -> str:
    """`value` with `digits` significant digits, trailing zeros dropped."""
    return f"{float(value):.{digits}g}"


def pair(expected: float, got: float, *, agree: bool = False) -> tuple[str, str]:
    """Two numbers with the same number of digits: enough to see that they differ by more than rounding."""
    digits, differ = _DIGITS, not agree and expected != got
    while differ and digits < _MOST and number(expected, digits) == number(got, digits):
        digits += 1
    return number(expected, digits), number(got, digits)


def ratio(value: float | None) -> str:
    """A quotient: four digits, more where it would look like 1, thousands separated; None is a dash."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if abs(value) >= 1e15:
        return f"{value:.3e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 4
    while digits < _MOST and value != 1.0 and float(number(value, digits)) == 1.0:
        digits += 1
    return number(value, digits)


def times(value: float | None, *, agree: bool = False) -> str:
    """A ratio with a multiplication sign: "333,334×"; if the numbers agree, without digits of rounding."""
    text = ratio(float(number(value, 4)) if agree and value is not None else value)
    return text if text == "-" or text.endswith("infinite") else f"{text}×"


def factor(value: float) -> str:
    """A factor where only the order of magnitude matters: "12", "1,234", "6e+14"."""
    return f"{value:.0e}" if 1e6 <= value < math.inf else ratio(float(f"{value:.3g}"))


def bound(value: float) -> str:
    """An error bound to one digit."""
    return "exact" if value == 0 else f"± {value:.0e}"


def count(value: int, noun: str) -> str:
    """A count in words: "1 finding", "2 findings", "12,000 checks"."""
    plural = noun if value == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{value:,} {plural}"


def sums(counts: Iterable[Mapping[K, int]]) -> Counter[K]:
    """The counts added up, name by name."""
    total: Counter[K] = Counter()
    for one in counts:
        total.update(one)
    return total


def right_digits(expected: float, got: float) -> int:
    """How many decimal digits of `got`, which is wrong, are those of `expected`."""
    share = apart(expected, got)
    return int(-math.log10(max(share, _LEAST_SHARE))) if share < 1.0 else 0


def apart(expected: float, got: float) -> float:
    """How far a number is off, as a share of the right one."""
    return abs(got - expected) / abs(expected) if expected else math.inf


def inputs(values: Mapping[str, Array]) -> str:
    """The inputs of a point with every digit that the dtype holds: "x = 0.5, v = [1, 2, 3]"."""
    return ", ".join(f"{name} = {array(value)}" for name, value in values.items()) or "no inputs"


def array(value: Array) -> str:
    """A scalar or array, each entry with the fewest digits that restore it in its dtype."""
    value = np.asarray(value)
    if value.ndim:
        return f"[{', '.join(array(row) for row in value)}]"
    return str(value[()]).removesuffix(".0")


def where(name: str, index: tuple[int, ...]) -> str:
    """The name of an entry: "x", "v[2]", "A[0, 1]"."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name

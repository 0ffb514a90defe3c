"""The class of an error: expected against got, entry by entry.

    expected  got         class
    -0.5      +1.33       sign_flip      the other sign, and a size within a factor of ten
    3e-6      1.000001    ratio_blowup   at least 10 times too large, whatever the sign
    0.75      0.0         missing        zero where it is not
    0.0       1.25        spurious       not zero where it is
    0.75      1.3125      wrong_value    anything else beyond what is allowed: 1.75 and -0.02 times the truth
    0.75      nan         non_finite
    0.75      0.75+1e-12  precision      more than half of the digits are right

An answer that is off by up to a tenth is of the class *precision*, too, where its error changes next to the
point: `rounding` finds that out for what is to be a finding.

A number counts as zero only where it is within the allowed error of zero. An answer has to be at most a
thousandth of the truth as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision

BLOWUP = 10.0
"""From this size of the ratio on, a gradient is a ratio_blowup, whatever its sign: -30 times the truth is
first of all far too large. A sign_flip is within this factor of the truth's size, above and below.
"""

NEXT_TO_ZERO = 1e-3
"""An answer that rounding cannot tell from zero is missing up to this part of the truth. Where rounding is
coarse, a tenth of the truth cannot be told from zero either, and "missing" would be untrue of that.
"""

CLEAR = 10.0
"""An error of this many times the allowed one is clear; disagreements and shrinking steps need that."""

_A_DIGIT = 3.0
"""In half precision a tenth of the truth may be allowed, and ten times that hides a wrong sign. Where the
truth is this many times what is allowed, an error as large as the truth is clear.
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One entry of an answer next to the truth: of the clearly wrong entries the most serious, otherwise the
    one with the largest error in units of the allowed one.

    `kind` is None where every entry is within the allowed error. `clear` says that the entry's error is at
    least `enough` times the allowed one; `largest` is the largest error over allowed of all entries.
    """

    kind: Class | None
    entry: tuple[str, tuple[int, ...]]
    expected: float
    got: float
    ratio: float | None
    error_over_allowed: float
    largest: float
    enough: float = CLEAR

    @property
    def clear(self) -> bool:
        return self.kind is not None and self.error_over_allowed >= self.enough


def error_over_allowed(expected: float, got: float, allowed: float) -> float:
    """The error in units of `allowed`: 0 where equal, infinite if `allowed` is 0 or `got` not finite."""
    if got == expected:
        return 0.0
    if not math.isfinite(got) or allowed == 0.0:
        return math.inf
    return abs(got - expected) / allowed


def _enough(expected: float, allowed: float, precision: Precision) -> float:
    """How many times the allowed error an error has to be to be clear."""
    digits = abs(expected) / allowed if precision in HALF and allowed > 0.0 else 0.0
    return min(CLEAR, digits) if digits >= _A_DIGIT else CLEAR


def ratio_of(expected: float, got: float) -> float | None:
    """Got / expected; None where it is undefined or not finite."""
    if expected == 0.0 or not math.isfinite(got):
        return None
    ratio = got / expected
    return ratio if math.isfinite(ratio) else None


def classify_entry(
    expected: float, got: float, allowed: float, precision: Precision = "float64"
) -> Class | None:
    """The class of one entry; None where the error is within `allowed`. `precision` is the target's."""
    if not math.isfinite(got):
        return Class.NON_FINITE
    if abs(got - expected) <= allowed:
        return None
    if expected == 0.0:
        return Class.SPURIOUS
    if abs(got) <= min(allowed, NEXT_TO_ZERO * abs(expected)):
        return Class.MISSING
    if abs(expected) <= allowed:
        # With this much rounding the truth may be zero: its sign says nothing.
        return Class.SPURIOUS
    if abs(got) >= BLOWUP * abs(expected):
        return Class.RATIO_BLOWUP
    if got / expected <= -1.0 / BLOWUP and abs(got) > allowed:
        return Class.SIGN_FLIP
    if abs(got - expected) <= FORMATS[precision].half_of_the_digits * abs(expected):
        return Class.PRECISION
    return Class.WRONG_VALUE


def _entries(
    expected: Mapping[str, Array], got: Mapping[str, Array], allowed: Mapping[str, Array]
) -> Iterator[tuple[str, tuple[int, ...], float, float, float]]:
    """The entries that are off by more than is allowed, and the farthest of the others."""
    for name, wanted in expected.items():
        e, g, a = (np.asarray(x, np.float64) for x in (wanted, got[name], allowed[name]))
        with np.errstate(all="ignore"):
            off = np.abs(g - e)
            within = np.asarray((off <= a) & np.isfinite(g) & (a < math.inf))
            shares = np.where(within, np.where(off > 0.0, off / a, 0.0), -1.0)
        kept = np.asarray((a < math.inf) & ~within)
        if np.any(within):
            kept[np.unravel_index(np.argmax(shares), kept.shape)] = True
        for index in map(tuple, np.argwhere(kept).tolist()):
            yield name, index, float(e[index]), float(g[index]), float(a[index])


def compare(
    expected: Mapping[str, Array],
    got: Mapping[str, Array],
    allowed: Mapping[str, Array],
    precision: Precision = "float64",
) -> Comparison | None:
    """The deciding entry over all differentiated inputs; None where there is none that is not allowed any
    error.

    The three mappings have the same names, and arrays of the same shapes.
    """
    best: Comparison | None = None
    best_key: tuple[float, ...] = (math.inf,)
    largest = 0.0
    for name, index, e, g, a in _entries(expected, got, allowed):
        kind = classify_entry(e, g, a, precision)
        size = error_over_allowed(e, g, a)
        largest = max(largest, size)
        enough = _enough(e, a, precision)
        key = (2, 0, -size) if kind is None else (size < enough, kind.severity, -size)
        if best is None or key < best_key:
            best, best_key = Comparison(kind, (name, index), e, g, ratio_of(e, g), size, 0.0, enough), key
    return None if best is None else replace(best, largest=largest)

"""Arrays of ordinary numbers, and of numbers where derivatives go wrong: zeros, ties, tiny and huge ones."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gradfuzz.programs.language.precision import FORMATS, Precision, rounded
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.display import shown
from gradfuzz.strategies.drawing.shape import Shape, draw_array
from gradfuzz.strategies.drawing.validation import check_numbers, check_precision, check_shape, reject

Domain = Literal["any", "nonzero", "positive"]


@st.composite
def arrays(
    draw: Draw,
    shape: Shape | None = None,
    *,
    precision: Precision = "float64",
    min_value: float | None = None,
    max_value: float | None = None,
    zeros: bool = True,
    ties: bool = True,
    extremes: bool = True,
) -> npt.NDArray[Any]:
    """Float arrays of `shape` (None: of rank 0 to 4), exact in `precision`, finite, with the entries at which
    gradients tend to be wrong.

    Entries are ordinary numbers, fractions with all their digits, sometimes all equal, with a zero or two,
    near zero or large, and with `extremes` rarely huge or tiny. `min_value` and `max_value` are inclusive
    bounds, and must be numbers of `precision`. Without `zeros` no entry is 0. Without `ties` all entries
    differ by a fraction of the range (from -2 to 2 without bounds), so that maxima and sorting are
    unambiguous.

    Shrinks towards 0.5 in every entry; where that is out of bounds, towards the nearer bound; without ties,
    towards an increasing array.
    """
    low, high = _bounds(precision, min_value, max_value)
    if not zeros and low == high == 0:
        given = f"min_value={min_value!r}, max_value={max_value!r}, zeros=False"
        reject(f"{given}: nothing but 0 lies within the bounds")
    dice = Dice(draw)
    chosen = draw_array(dice) if shape is None else shape
    check_shape(chosen)
    if ties:
        drawn = _numbers(dice, chosen, precision, "any" if zeros else "nonzero", extremes)
        values = _within(drawn, low, high)
    else:
        values = _apart(dice, chosen, precision, low, high)
    if not zeros:
        values[values == 0] = _beside_zero(low, high)
    return shown(np.asarray(values, precision))


def _bounds(precision: Precision, min_value: float | None, max_value: float | None) -> tuple[float, float]:
    check_precision(precision)
    check_numbers(min_value=min_value, max_value=max_value)
    for what, value in (("min_value", min_value), ("max_value", max_value)):
        if value is not None and not (math.isfinite(value) and abs(value) <= FORMATS[precision].largest):
            reject(f"{what}={value!r}: a finite number of {precision}")
        if value is not None and rounded(value, precision) != value:
            nearest = rounded(value, precision)
            reject(f"{what}={value!r} is no number of {precision}; the nearest one is {nearest!r}")
    low, high = -math.inf if min_value is None else min_value, math.inf if max_value is None else max_value
    if low > high:
        reject(f"min_value={min_value!r}, max_value={max_value!r}: min_value <= max_value must hold")
    return low, high


def _numbers(
    dice: Dice, shape: Shape, precision: Precision, domain: Domain, extremes: bool
) -> npt.NDArray[np.float64]:
    """Entries drawn one by one, to shrink one by one. A large array repeats the entries of a small one."""
    size = math.prod(shape)
    if size <= _ONE_BY_ONE:
        return draw_numbers(dice, shape, precision, domain, extremes)[0].astype(np.float64)
    few = draw_numbers(dice, (_ONE_BY_ONE,), precision, domain, extremes)[0].astype(np.float64)
    rng = np.random.default_rng([dice.below(1 << 16), *shape])
    return few[rng.integers(0, _ONE_BY_ONE, shape)]


def _within(values: npt.NDArray[np.float64], low: float, high: float) -> npt.NDArray[np.float64]:
    """Values out of bounds, reflected at the bound, or folded into the range between two bounds."""
    inside = (low <= values) & (values <= high)
    if math.isinf(low) and math.isinf(high):
        return values
    if math.isfinite(low) and math.isfinite(high):
        share = np.modf(np.abs(values) - 0.5)[0] ** 2
        folded = high - (high - low) * share if high < 0.5 else low + (high - low) * share
    else:
        folded = low + np.abs(values - 0.5) if math.isfinite(low) else high - np.abs(values - 0.5)
    return np.asarray(np.clip(np.where(inside, values, folded), low, high))


def _apart(
    dice: Dice, shape: Shape, precision: Precision, low: float, high: float
) -> npt.NDArray[np.float64]:
    """One entry from the middle half of each of equal parts of the range, in any order."""
    size = math.prod(shape)
    if math.isinf(high):
        low = -2.0 if math.isinf(low) else low
        high = low + 4.0
    elif math.isinf(low):
        low = high - 4.0
    part = (high - low) / max(size, 1)
    if size > 1 and part <= 4.0 * FORMATS[precision].eps * max(abs(low), abs(high)):
        numbers = f"{size} numbers of {precision} from {low!r} to {high!r}"
        reject(f"ties=False with shape={shape!r}: {numbers} are not apart")
    places = list(range(size))
    if size <= _ONE_BY_ONE:
        order = [places.pop(dice.below(len(places))) for _ in range(size)]
        inner = [_fraction(dice) / 3.0 for _ in order]
    else:
        rng = np.random.default_rng([dice.below(1 << 16), *shape])
        order, inner = rng.permutation(size).tolist(), rng.random(size).tolist()
    return np.array(
        [low + part * (k + 0.25 + 0.5 * f) for k, f in zip(order, inner, strict=True)], np.float64
    ).reshape(shape)


def _beside_zero(low: float, high: float) -> float:
    """A small number within the bounds that replaces a zero."""
    return min(0.0625, high) if high > 0 else max(-0.0625, low)


_ONE_BY_ONE = 32
"""The most entries that are drawn one by one: Hypothesis limits the numbers of a draw."""


# Numbers ----------------------------------------------------------------------------------------------------

_ORDINARY = (0.5, 1.5, 0.75, 0.25, 1.0, 2.0, 0.3, 1.25, 0.7, 1.7, 2.5, -0.5, -1.5, -0.25, -0.7, -2.0)
_STEPS = 65_537
_SCATTER = 40_503
"""`_STEPS` is prime: fractions with it fill the mantissa. `_SCATTER` spreads their numerators, because
Hypothesis prefers small integers.
"""

_LARGE = (10.0, 100.0, 1000.0, 37.5, 640.0, 3.0)
_HUGE: dict[Precision, tuple[float, ...]] = {
    "float64": (2.0**53, 1e160),
    "float32": (2.0**24, 1e18),
    "bfloat16": (2.0**8, 1e18),
    "float16": (2.0**11, 2.0**8),
}
_TINY: dict[Precision, tuple[float, ...]] = {
    "float64": (2.0**-53, 1e-170),
    "float32": (2.0**-24, 1e-18),
    "bfloat16": (2.0**-8, 1e-18),
    "float16": (2.0**-11, 2.0**-14),
}
_NEAREST_TO_ZERO: dict[Precision, int] = {"float64": 12, "float32": 12, "bfloat16": 12, "float16": 3}
"""10^-k is near zero for k up to this: in float16 the product of two such numbers is still normal."""
_SCALES: dict[Precision, tuple[float, float, float]] = dict.fromkeys(FORMATS, (1e-06, 100.0, 1e-12)) | {
    "float16": (1e-2, 100.0, 1e-3)
}

_KINDS: Odds[tuple[str, int]] = Odds(
    *((2, ("ordinary", k)) for k in range(len(_ORDINARY))),
    *((26, ("fraction", 0)), (9, ("power of two", 0)), (13, ("near zero", 0)), (9, ("zero", 0))),
    *((10, ("large", 0)), (1, ("huge", 0)), (1, ("tiny", 0))),
)
"""Ordinary numbers and zero take one draw each, so that shrinking prefers one only by this order."""
_FILLS: Odds[str] = Odds(
    (44, "ordinary"), (16, "fractions"), (12, "all equal"), (12, "one zero"), (10, "two zeros"), (6, "scaled")
)


def draw_numbers(
    dice: Dice, shape: Shape, precision: Precision, domain: Domain, extremes: bool
) -> tuple[npt.NDArray[np.generic], bool]:
    """An array of `shape`, and whether a number of it is huge or tiny."""
    if not shape:
        value, extreme = _scalar(dice, precision, domain, extremes)
        return np.array(value, precision), extreme
    size = math.prod(shape)
    fill = dice.weighted(_FILLS)
    if fill == "all equal":
        value, extreme = _scalar(dice, precision, domain, extremes)
        return np.full(shape, value, precision), extreme
    entries = [_fraction(dice) if fill == "fractions" else dice.pick(_ORDINARY) for _ in range(size)]
    if fill == "scaled":
        scale = dice.pick(_SCALES[precision])
        entries = [scale * e for e in entries]
    if domain == "any" and size:
        for k in range({"one zero": 1, "two zeros": 2}.get(fill, 0)):
            entries[(dice.below(size) + k) % size] = 0.0
    if domain == "positive":
        entries = [abs(e) for e in entries]
    return np.array(entries, precision).reshape(shape), False


def _scalar(dice: Dice, precision: Precision, domain: Domain, extremes: bool) -> tuple[float, bool]:
    kind, nth = dice.weighted(_KINDS)
    if kind == "ordinary":
        value = _ORDINARY[nth]
        return (abs(value) if domain == "positive" else value), False
    if kind == "zero":
        return (0.0, False) if domain == "any" else (1.0, False)
    if kind == "fraction":
        value = _fraction(dice)
    elif kind == "power of two":
        value = 2.0 ** (dice.below(21) - 10)
    elif kind == "near zero" or not extremes:
        value = 10.0 ** -(1 + dice.below(_NEAREST_TO_ZERO[precision]))
    elif kind == "large":
        value = dice.pick(_LARGE)
    else:
        value = dice.pick((_HUGE if kind == "huge" else _TINY)[precision])
    sign = -1.0 if domain != "positive" and dice.chance(35) else 1.0
    return sign * value, kind in ("huge", "tiny")


def _fraction(dice: Dice) -> float:
    """A number in (0, 3) with all its digits."""
    return 3.0 * ((1 + dice.below(_STEPS - 1)) * _SCATTER % _STEPS) / _STEPS

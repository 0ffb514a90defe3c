"""The slope of a function of one number that is evaluated in machine floats, with an honest error bound.

The slope at 0 is Richardson's extrapolation of central differences (scipy.differentiate.derivative), started
at steps of several scales. The bound has three parts: the difference of two successive extrapolations, the
effect of the values' noise at the last step, and the disagreement of the best scale with the others beyond
their bounds. Where the one-sided slopes do not converge to each other as the step shrinks, there is a kink,
and each side is extrapolated alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_STEPS = (2.0**-2, 2.0**-7, 2.0**-14)
"""The first steps of differences, in units of the input's size. The first loses least to rounding, the last
depends least on values far away.
"""

_SAFETY = 8.0
"""The bound is this many times the difference of two extrapolations."""

_NOISY, _NOISY_SIDE = 8.0, 350.0
"""The bound on what noise does to a difference: so many times the noise by the last step. The weights of
the values in scipy.differentiate's differences of order 6 add up to 6.6, one-sided ones to 342.
"""

_ITERATIONS = 8

_PROBES = (-(2.0**-3), 2.0**-4, 2.0**-9, -(2.0**-10))
"""Steps that show whether a function is flat, in units of the input's size."""

_ROUNDED = 2.0**-51
"""What two roundings of a float64 can do to a value that does not move, as a share of it."""

_CLOSE = 2.0**-24
"""The distance of the values that the noise is estimated from, in units of the input's size."""

_CLOSER = ((2.0**-8, 2.0**-12, 2.0**-16), (2.0**-5, 2.0**-8, 2.0**-11))
"""The steps of the one-sided slopes, in units of the input's size; others where noise hides what the last of
them shows.
"""

_FEW = 2.0**-5
"""The first of three steps that settle what is clear, in units of the input's size."""

_LOST = 64.0
"""The roundings of a value that they grant to it."""

_APART = 4.0
"""Two numbers are told apart by a bound that is so many times smaller than their difference."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope and its bound. `left` and `right` are the one-sided slopes at a kink, else the slope.

    `flat`: all observed values were the same. The function is constant here, or rounding inside it hides its
    changes. The bound is that of a constant: 0 is to be believed where something else says 0 as well.
    """

    value: float
    bound: float
    left: float
    right: float
    flat: bool = False

    @property
    def kink(self) -> bool:
        return self.left != self.right


def slope(f: Callable[[float], float], size: float, roundoff: float) -> Slope | None:
    """The slope of `f` at 0, or None if it is unknown.

    `size` is the scale of the input, `roundoff` that of the values of `f`.
    """
    known = functools.lru_cache(maxsize=None)(f)
    here = known(0.0)
    if all(known(t * size) == here for t in _PROBES):
        return Slope(0.0, _ROUNDED * abs(here) / (max(_PROBES) * size), 0.0, 0.0, flat=True)
    if not math.isfinite(here):
        return None
    noise = max(_noise(known, size), roundoff * abs(here))
    sides = _kink(known, here, size, noise)
    if sides is not None:
        return sides
    best = _best([_extrapolated(known, step * size, noise, 0) for step in _STEPS])
    return None if best is None else Slope(best[0], best[1], best[0], best[0])


def speaks_for(f: Callable[[float], float], size: float, roundoff: float, value: float, other: float) -> bool:
    """Whether six values of `f` are enough to say that its slope at 0 is `value` and not `other`.

    Central differences at three steps are extrapolated twice. What these differ by, and the rounding of the
    values, must be far less than the difference of the two numbers.
    """
    steps = [_FEW * size / 2.0**k for k in range(3)]
    sides = [(f(-step), f(step)) for step in steps]
    one, two, three = ((after - before) / (2.0 * h) for h, (before, after) in zip(steps, sides, strict=True))
    first, second = two + (two - one) / 3.0, three + (three - two) / 3.0
    found = second + (second - first) / 15.0
    largest = max(abs(height) for pair in sides for height in pair)
    bound = _SAFETY * abs(found - second) + _LOST * roundoff * largest / steps[-1]
    return abs(found - value) <= bound < abs(value - other) / _APART


def _noise(f: Callable[[float], float], size: float) -> float:
    """The rounding noise of `f`, from differences of order 3 to 6 of values so close that they hold nothing
    else.

    The k-th difference of independent errors of variance s^2 has the variance s^2 (2k)! / (k!)^2 (More and
    Wild, "Estimating computational noise", 2011, section 2).
    """
    differences = np.array([f(k * _CLOSE * size) for k in range(-4, 5)])
    largest = float(np.max(np.abs(differences)))
    if not 0.0 < largest < math.inf:
        return 0.0
    differences /= largest
    levels = []
    for k in range(1, 7):
        differences = np.diff(differences)
        if k >= 3:
            levels.append(math.sqrt(float(np.mean(differences**2)) / math.comb(2 * k, k)))
    return largest * max(levels)


def _kink(f: Callable[[float], float], here: float, size: float, noise: float) -> Slope | None:
    """The one-sided slopes if they differ; None if they converge to each other or a side is unknown."""
    told = (_stays(f, here, [c * size for c in steps], noise) for steps in _CLOSER)
    if not next((stays for stays in told if stays is not None), False):
        return None
    left, right = (_best([_extrapolated(f, step * size, noise, side) for step in _STEPS]) for side in (-1, 1))
    if left is None or right is None or abs(left[0] - right[0]) <= left[1] + right[1]:
        return None
    return Slope(math.nan, max(left[1], right[1]), left[0], right[0])


def _stays(f: Callable[[float], float], here: float, steps: Sequence[float], noise: float) -> bool | None:
    """Whether the one-sided slopes stay apart as the step shrinks; None where noise may explain it."""
    first, second, third = (abs((f(step) - here) - (here - f(-step))) / step for step in steps)
    if not _SAFETY * 4.0 * noise / steps[-1] < third < math.inf:
        return None
    return first / 4.0 <= second and second / 4.0 <= third


def _extrapolated(
    f: Callable[[float], float], step: float, noise: float, side: int
) -> tuple[float, float] | None:
    """A slope and its bound from differences starting at `step`; None where the function is not finite."""
    from scipy.differentiate import derivative  # as dear as all that a right gradient needs of gradfuzz

    seen: list[float] = []
    weight = _NOISY_SIDE if side else _NOISY

    def heights(ts: np.ndarray) -> np.ndarray:
        found = np.array([f(float(t)) for t in np.ravel(ts)]).reshape(np.shape(ts))
        seen.extend(np.abs(found).ravel().tolist())
        return found

    found: list[tuple[float, float]] = []

    def note(result: Any) -> None:
        """Keeps each extrapolation with its bound: if the values are steps, the last ones see only one."""
        last = step / 2.0 ** (max(int(result.nit), 1) - 1)
        value, bound = float(result.df), _SAFETY * float(result.error) + weight * noise / last
        if math.isfinite(value) and math.isfinite(bound):
            found.append((value, bound))

    with np.errstate(all="ignore"):
        steps = {"initial_step": step, "maxiter": _ITERATIONS, "step_direction": side}
        precise = {"atol": 0.0, "rtol": np.finfo(float).eps}
        derivative(heights, 0.0, order=6, tolerances=precise, callback=note, **steps)
    if not found or not all(map(math.isfinite, seen)):
        return None
    return min(found, key=lambda one: one[1])


def _best(found: list[tuple[float, float] | None]) -> tuple[float, float] | None:
    """The estimate with the smallest bound, widened by its disagreement with the others."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    value, bound = min(known, key=lambda one: one[1])
    excess = max((abs(other - value) - (bound + its) for other, its in known), default=0.0)
    return value, bound + max(0.0, excess)

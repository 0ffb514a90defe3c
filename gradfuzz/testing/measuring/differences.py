"""One slope of a function of one number that can only be evaluated in machine floats, with an honest bound
for its error.

The slope at 0 is Richardson's extrapolation of central differences (scipy.differentiate.derivative), begun at
steps of several scales. Its bound has what two successive extrapolations differ by, what the noise of the
values costs at the last step, and how far the best of the scales is from the others in excess of what they
claim. Where the slopes to either side do not come together as the step shrinks there is a kink, and both are
extrapolated from their own side.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.differentiate import derivative

_STEPS = (2.0**-2, 2.0**-7, 2.0**-14)
"""The scales at which differences begin, in units of the input's size: the first loses least to rounding, the
last sees least of what is far away.
"""

_SAFETY = 8.0
"""The bound is so many times what two extrapolations differ by."""

_ITERATIONS = 8

_PROBES = (-(2.0**-3), 2.0**-4, 2.0**-9, -(2.0**-10))
"""Where a function is seen not to be flat, in units of the input's size."""

_CLOSE = 2.0**-24
"""How far apart the values are from which the noise is told, in units of the input's size."""

_CLOSER = (2.0**-8, 2.0**-12, 2.0**-16)
"""Where the slopes to either side are compared, in units of the input's size."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope and its bound; at a kink those to the left and to the right, else both are the slope.

    `flat` says that all values seen were the same: a function that is constant here, or one whose changes are
    lost to rounding inside it.
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
    """The slope of `f` at 0; None where it cannot be told.

    `size` is the scale of what moves, `roundoff` that of the values of `f`.
    """
    known = functools.lru_cache(maxsize=None)(f)
    here = known(0.0)
    if all(known(t * size) == here for t in _PROBES):
        return Slope(0.0, 4.0 * roundoff * abs(here) / (max(_PROBES) * size), 0.0, 0.0, flat=True)
    if not math.isfinite(here):
        return None
    noise = max(_noise(known, size), roundoff * abs(here))
    sides = _kink(known, here, size, noise)
    if sides is not None:
        return sides
    best = _best([_extrapolated(known, step * size, noise, 0) for step in _STEPS])
    return None if best is None else Slope(best[0], best[1], best[0], best[0])


def _noise(f: Callable[[float], float], size: float) -> float:
    """What rounding inside `f` does to its values, from the differences of order 3 to 6 of values so close
    that nothing else is in them.

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
    """The slopes to either side where they stay apart; None where they come together or a side cannot be
    seen.
    """
    bends = []
    for step in (c * size for c in _CLOSER):
        before, after = f(-step), f(step)
        bends.append((abs((after - here) - (here - before)) / step, 4.0 * noise / step))
    if not all(math.isfinite(bend) for bend, _ in bends):
        return None
    (first, _), (second, _), (third, lost) = bends
    if third <= _SAFETY * lost or second < first / 4.0 or third < second / 4.0:
        return None
    left, right = (_best([_extrapolated(f, step * size, noise, side) for step in _STEPS]) for side in (-1, 1))
    if left is None or right is None or abs(left[0] - right[0]) <= left[1] + right[1]:
        return None
    return Slope(math.nan, max(left[1], right[1]), left[0], right[0])


def _extrapolated(
    f: Callable[[float], float], step: float, noise: float, side: int
) -> tuple[float, float] | None:
    """A slope and its bound from differences that begin at one step; None where the function is not finite
    there.
    """
    seen: list[float] = []

    def heights(ts: np.ndarray) -> np.ndarray:
        found = np.array([f(float(t)) for t in np.ravel(ts)]).reshape(np.shape(ts))
        seen.extend(np.abs(found).ravel().tolist())
        return found

    found: list[tuple[float, float]] = []

    def note(result: Any) -> None:
        """Each extrapolation with its bound: where the values are steps, the later ones see a single one."""
        last = step / 2.0 ** (max(int(result.nit), 1) - 1)
        value, bound = float(result.df), _SAFETY * float(result.error) + _SAFETY * noise / last
        if math.isfinite(value) and math.isfinite(bound):
            found.append((value, bound))

    with np.errstate(all="ignore"):
        derivative(
            heights,
            0.0,
            order=6,
            initial_step=step,
            maxiter=_ITERATIONS,
            step_direction=side,
            tolerances={"atol": 0.0, "rtol": np.finfo(float).eps},
            callback=note,
        )
    if not found or not all(map(math.isfinite, seen)):
        return None
    return min(found, key=lambda one: one[1])


def _best(found: list[tuple[float, float] | None]) -> tuple[float, float] | None:
    """The one of the smallest bound, which grows by what the others contradict it."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    value, bound = min(known, key=lambda one: one[1])
    excess = max((abs(other - value) - (bound + its) for other, its in known), default=0.0)
    return value, bound + max(0.0, excess)

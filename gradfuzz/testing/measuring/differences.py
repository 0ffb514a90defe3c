"""The slope of a function of one number that is evaluated in machine floats, with an honest error bound.

The slope at 0 is Richardson's extrapolation of central differences (scipy.differentiate.derivative), started
at steps of several scales. The bound has three parts: the difference of two successive extrapolations, the
effect of the values' noise at the last step, and the disagreement of the best scale with the others beyond
their bounds. Where the one-sided slopes do not converge to each other as the step shrinks, there is a kink,
and each side is extrapolated alone.

The values may jump, where code computes in float32 or bfloat16 inside, or a solver stops by a value. Between
two jumps the slope is another one, and no small step tells. So jumps are looked for, and count as noise.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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

_WIDE, _NARROW = 2.0**-5, 2.0**-8
"""Jumps are looked for among values of these distances, in units of the input's size. A large one that the
second distance does not reach is the function's own, and far from the point.
"""

_LARGE = 2.0**-10
"""A jump of this share of the values is large: stopping rules are tighter."""

_ZOOM, _ZOOMS = 4.0, 11
"""So many times the distance shrinks by this factor, around the value that is least smooth."""

_STAYS, _LAST = 4.0, 5
"""What is left is a jump where the last levels are within this factor of one another, so many of them. What a
kink leaves shrinks with the distance.
"""

_OFF = 1.5
"""The noise of jumps in units of that of independent errors: a lone jump is seen by fewer values."""

_FAR = (2.0**2, 1.0, 2.0**-2, 2.0**-5, 2.0**-9, 2.0**-13)
"""First steps that do not depend on the input's size, for a small input whose digits are lost inside."""

_SMALL = 2.0**-4
"""An input below this is small. A loop that stops by a value need not end far away from any other."""

_FINE, _CLEAR = 1e-3, 0.1
"""Larger steps are tried for a slope that is not known to this share of it ..., and one that small steps do
not show at all must be known to that.
"""

_BETWEEN = 2.0**-29
"""The step of the slope between two jumps, in units of the input's size. The point may lie on a jump."""

_LOST = 64.0
"""So many roundings of a value are no jump."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope and its bound. `left` and `right` are the one-sided slopes at a kink, else the slope.

    `flat`: all observed values near the point are the same, and farther away they jump. The function is
    constant here, or rounding inside it hides its changes. The bound is that of a constant: 0 is to be
    believed where something else says 0 as well.

    `jump` is how far the values jump, as a share of them, and `between` the slope between two jumps.
    """

    value: float
    bound: float
    left: float
    right: float
    flat: bool = False
    jump: float = 0.0
    between: float | None = None

    @property
    def kink(self) -> bool:
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A slope, its bound, and the step and the noise of the values behind it."""

    value: float
    bound: float
    step: float
    noise: float


_bound_of = operator.attrgetter("bound")


def slope(f: Callable[[float], float], size: float, roundoff: float) -> Slope | None:
    """The slope of `f` at 0, or None if it is unknown.

    `size` is the scale of the input, `roundoff` that of the values of `f`.
    """
    known = functools.lru_cache(maxsize=None)(f)
    here = known(0.0)
    is_flat = all(known(t * size) == here for t in _PROBES)
    constant = Slope(0.0, _ROUNDED * abs(here) / (max(_PROBES) * size), 0.0, 0.0, flat=is_flat)
    if not math.isfinite(here):
        return constant if is_flat else None
    found: list[_Estimate | None] = []
    if is_flat:
        noise = roundoff * abs(here)
        jump = _followed(known, 4.0 * _WIDE * size, roundoff)[0]
    else:
        jump = _jump(known, size, roundoff)
        noise = max(_noise(known, size), roundoff * abs(here), jump)
        sides = _kink(known, here, size, noise)
        if sides is not None:
            return sides
        found = [_extrapolated(known, step * size, noise, 0) for step in _STEPS]
    best = _best(found)
    if (is_flat or jump) and (best is None or best.bound > _FINE * abs(best.value)):
        is_near = jump > 0.0 and size >= _SMALL
        for step in [0.5 * size] if is_near else [size, *(s for s in _FAR if s > size)]:
            far = _followed(known, _WIDE * step, roundoff)[0]
            jump = max(jump, far)
            found.append(_extrapolated(known, step, max(noise, far), 0))
        best = min((one for one in (best, _best(found)) if one is not None), key=_bound_of, default=None)
    if is_flat and (best is None or not jump or not best.bound < _CLEAR * abs(best.value)):
        return replace(constant, flat=jump > 0.0)
    if best is None:
        return None
    if not jump:
        return Slope(best.value, best.bound, best.value, best.value)
    bound = math.inf if _turns(known, best) else best.bound
    between = (known(2.0 * _BETWEEN * size) - known(_BETWEEN * size)) / (_BETWEEN * size)
    share = best.noise / max(abs(here), best.noise)
    return Slope(best.value, bound, best.value, best.value, jump=share, between=between)


def _noise(f: Callable[[float], float], size: float) -> float:
    """The rounding noise of `f`, from differences of order 3 to 6 of values so close that they hold nothing
    else.

    The k-th difference of independent errors of variance s^2 has the variance s^2 (2k)! / (k!)^2 (More and
    Wild, "Estimating computational noise", 2011, section 2).
    """
    heights = np.array([f(k * _CLOSE * size) for k in range(-4, 5)])
    return max(_levels(heights, 3, 6)) if np.all(np.isfinite(heights)) else 0.0


def _levels(heights: np.ndarray, low: int, high: int) -> list[float]:
    """The deviation of independent errors that would make the differences of these orders."""
    largest = float(np.max(np.abs(heights))) or 1.0
    orders = ((k, np.diff(heights / largest, k)) for k in range(low, high + 1))
    return [largest * math.sqrt(float(np.mean(d**2)) / math.comb(2 * k, k)) for k, d in orders]


def _jump(f: Callable[[float], float], size: float, roundoff: float) -> float:
    """What a value near 0 is off by jumps; 0.0 where the function is smooth as far as rounding tells."""
    for window in _WIDE, _WIDE / 2.0:
        jump, largest = _followed(f, window * size, roundoff)
        if 0.0 < jump < _LARGE * largest:
            return jump
    return _followed(f, _NARROW * size, roundoff, 8)[0]


def _followed(
    f: Callable[[float], float], distance: float, roundoff: float, reach: int = 16
) -> tuple[float, float]:
    """What a value is off by jumps among so many values of this distance on either side, and the largest of
    the values.
    """
    levels: list[float] = []
    centre = largest = 0.0
    for _ in range(_ZOOMS):
        heights = np.array([f(centre + k * distance) for k in range(-reach, reach + 1)])
        if np.all(np.isfinite(heights)):
            scale = float(np.max(np.abs(heights))) or 1.0
            largest = largest or scale
            levels.append(min(_levels(heights, 6, 8)))
            last = levels[-_LAST:]
            if levels[-1] <= _LOST * roundoff * scale:
                break
            if len(last) == _LAST and max(last) <= _STAYS * min(last):
                return _OFF * max(last), largest
            centre += distance * (int(np.argmax(np.abs(np.diff(heights / scale, 8)))) + 4 - reach)
            reach = 8
        distance /= _ZOOM
    return 0.0, largest


def _turns(f: Callable[[float], float], at: _Estimate) -> bool:
    """Whether the one-sided slopes at the last step are apart by more than noise explains, and stay apart."""
    narrow, wide = (abs(f(h) - 2.0 * f(0.0) + f(-h)) / h for h in (at.step, 2.0 * at.step))
    return narrow > max(4.0 * _SAFETY * at.noise / at.step, 0.75 * wide)


def _kink(f: Callable[[float], float], here: float, size: float, noise: float) -> Slope | None:
    """The one-sided slopes if they differ; None if they converge to each other or a side is unknown."""
    told = (_stays(f, here, [c * size for c in steps], noise) for steps in _CLOSER)
    if not next((stays for stays in told if stays is not None), False):
        return None
    left, right = (_best([_extrapolated(f, step * size, noise, side) for step in _STEPS]) for side in (-1, 1))
    if left is None or right is None or abs(left.value - right.value) <= left.bound + right.bound:
        return None
    return Slope(math.nan, max(left.bound, right.bound), left.value, right.value)


def _stays(f: Callable[[float], float], here: float, steps: Sequence[float], noise: float) -> bool | None:
    """Whether the one-sided slopes stay apart as the step shrinks; None where noise may explain it."""
    first, second, third = (abs((f(step) - here) - (here - f(-step))) / step for step in steps)
    if not _SAFETY * 4.0 * noise / steps[-1] < third < math.inf:
        return None
    return first / 4.0 <= second and second / 4.0 <= third


def _extrapolated(f: Callable[[float], float], step: float, noise: float, side: int) -> _Estimate | None:
    """A slope and its bound from differences starting at `step`; None where the function is not finite."""
    from scipy.differentiate import derivative  # as dear as all that a right gradient needs of gradfuzz

    seen: list[float] = []
    weight = _NOISY_SIDE if side else _NOISY

    def heights(ts: np.ndarray) -> np.ndarray:
        found = np.array([f(float(t)) for t in np.ravel(ts)]).reshape(np.shape(ts))
        seen.extend(np.abs(found).ravel().tolist())
        return found

    found: list[_Estimate] = []

    def note(result: Any) -> None:
        """Keeps each extrapolation with its bound: if the values are steps, the last ones see only one."""
        last = step / 2.0 ** (max(int(result.nit), 1) - 1)
        value, bound = float(result.df), _SAFETY * float(result.error) + weight * noise / last
        if math.isfinite(value) and math.isfinite(bound):
            found.append(_Estimate(value, bound, last, noise))

    with np.errstate(all="ignore"):
        steps = {"initial_step": step, "maxiter": _ITERATIONS, "step_direction": side}
        precise = {"atol": 0.0, "rtol": np.finfo(float).eps}
        derivative(heights, 0.0, order=6, tolerances=precise, callback=note, **steps)
    if not found or not all(map(math.isfinite, seen)):
        return None
    return min(found, key=_bound_of)


def _best(found: Sequence[_Estimate | None]) -> _Estimate | None:
    """The estimate with the smallest bound, widened to hold those that contradict it."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    best = min(known, key=_bound_of)
    apart = [(abs(one.value - best.value), one.bound) for one in known]
    return replace(best, bound=max([best.bound, *(a + b for a, b in apart if a > b + best.bound)]))

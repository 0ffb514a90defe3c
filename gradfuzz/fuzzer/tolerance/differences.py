"""The slope of a function of one number that is evaluated in machine floats, with an honest error bound.

The slope at 0 is Richardson's extrapolation of central differences, started at steps of several scales. The
bound has three parts: the difference of two successive extrapolations, the effect of the values' noise at the
last step, and the disagreement of the best scale with the others beyond their bounds. Where the one-sided
slopes do not converge to each other as the step shrinks, there is a kink, and each side is extrapolated
alone.

The values may jump, where code computes in float32 or bfloat16 inside, or a solver stops by a value. Between
two jumps the slope is another one, and no small step tells. So jumps are looked for, and count as noise.
Where values hardly move, as those of 1 + x near 0 do, the next jump may be farther away than any step.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.tolerance.allowed import SAFETY

_STEPS = (2.0**-3, 2.0**-7, 2.0**-14)
"""The first steps of differences, in units of the input's size. The first loses least to rounding, the last
depends least on values far away.
"""

_NOISY, _NOISY_SIDE = 2.0, 8.0
"""The bound on what noise does to an extrapolation: so many times the noise by the last step. The weights of
the values add up to 1.7 by that step, those of one side to 7.3.
"""

_ROWS = 10
"""How many differences are extrapolated, each of half the step of the one before."""

_CLOSE = 2.0**-24
"""The distance of the values that the noise is estimated from, in units of the input's size."""

_WIDE, _NARROW = 2.0**-5, 2.0**-8
"""Jumps are looked for among values of these distances, in units of the input's size. A large one that the
second distance does not reach is the function's own, and far from the point.
"""

_ZOOM, _ZOOMS = 4.0, 11
"""So many times the distance shrinks by this factor, around the value that is least smooth."""

_LAST = 4
"""What is left is a jump where so many of the last levels are within one such factor of one another. What a
kink leaves shrinks with the distance.
"""

_HIDING = 2.0**-7
"""Values that move by less than this share of themselves may stand between two jumps of bfloat16."""

_FAR = 4.0
"""Steps grow up to this for an input whose digits are lost inside, whatever its size ..."""

_SMALL = 2.0**-4
"""... but not where values jump beside one that is larger: a loop that stops by a value may not end far away.
"""

TRUSTED, COARSE = 1e-3, 0.1
"""A slope that is not known to this share of it judges nothing; to the second one, where values jump. A jump
of the first share of the values is large: stopping rules are tighter.
"""

_NEAREST = 2.0**-36
"""The distance of the values that tell whether larger steps saw the slope, in units of the input's size."""

BETWEEN = 2.0**-29
"""The step of the slope between two jumps, in units of the input's size. The point may lie on a jump."""

LOST = 64.0
"""So many roundings of a value are no jump, and so many of the largest entry of a gradient no lost digits."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope and its bound. `left` and `right` are the one-sided slopes at a kink, else the slope.

    `flat`: all observed values near the point are the same, and farther away they jump. The function is
    constant here, or rounding inside it hides its changes. The bound is that of a constant: 0 is to be
    believed where something else says 0 as well.

    `jump` is how far the values jump, as a share of them, and `between` the slope between two jumps. `step`
    and `noise` are those of the values behind the slope.
    """

    value: float
    bound: float
    left: float
    right: float
    flat: bool = False
    jump: float = 0.0
    between: float | None = None
    step: float = 0.0
    noise: float = 0.0

    @property
    def kink(self) -> bool:
        return self.left != self.right


def slope(
    f: Callable[[float], float], size: float, roundoff: float, hidden: Callable[[], float] = lambda: 0.0
) -> Slope | None:
    """The slope of `f` at 0, or None if it is unknown.

    `size` is the scale of the input, `roundoff` that of the values of `f`. Where they hardly move, `hidden`
    says by which share of themselves they jump farther away.
    """
    known = functools.lru_cache(maxsize=None)(f)
    here, size = known(0.0), max(size, sys.float_info.min)
    moves = [abs(known(sign * step * size) - here) for step in _STEPS for sign in (1.0, -1.0)]
    is_flat = not any(moves)
    if not math.isfinite(here):
        return None
    # Between two steps of a stair the values rest, and move to both sides farther away.
    rests = not any(moves[4:]) and here not in (known(size), known(-size))
    wide = 4.0 * _WIDE * size
    jump = _followed(known, wide, roundoff)[0] if is_flat else _jump(known, size, roundoff, rests=rests)
    if not is_flat and not jump and max(moves) < _HIDING * abs(here):
        jump = hidden() * abs(here)
    noise = max(_noise(known, size), roundoff * abs(here), 0.0 if is_flat else jump)
    sides = _kink(known, size, noise)
    if sides is not None:
        return sides
    found = [_extrapolated(known, step * size, noise, 0) for step in _STEPS]
    near = best = _best(found)
    if is_flat or (jump and (best is None or best.bound > TRUSTED * abs(best.value))):
        is_near = jump > 0.0 and size >= _SMALL
        grown = (size * 16.0**k for k in range(9))
        for step in [0.5 * size] if is_near else [*(s for s in grown if s < _FAR), max(_FAR, size)]:
            far = _followed(known, _WIDE * step, roundoff)[0]
            jump = max(jump, far)
            found.append(_extrapolated(known, step, max(noise, far), 0))
        best = _best(found)
        if is_flat and (best is None or not jump or not best.bound < COARSE * abs(best.value)):
            return None if near is None else replace(near, flat=jump > 0.0)
    if best is not None and not is_flat and _misses(known, _NEAREST * size, best, jumps=jump > 0.0):
        return replace(best, bound=math.inf)
    if best is None or not jump:
        return best
    spread = max(abs(here), *(abs(known(sign * step * size)) for step in _STEPS for sign in (1.0, -1.0)))
    is_unknown = best.noise > COARSE * spread or _stays(known, best.step, 2.0, best.noise)
    bound = math.inf if is_unknown else best.bound
    between = (known(2.0 * BETWEEN * size) - known(BETWEEN * size)) / (BETWEEN * size)
    share = best.noise / max(abs(here), best.noise)
    return replace(best, bound=bound, jump=share, between=between)


def _misses(f: Callable[[float], float], distance: float, found: Slope, *, jumps: bool) -> bool:
    """Whether values next to 0 have another slope than was found, as those of an oscillation that is faster
    than the steps. Between two jumps the slope is another one, but not a much larger one. Values that do not
    move at all are a step, and no oscillation.
    """
    heights = np.array([f(k * distance) for k in range(-4, 5)])
    if not np.all(np.isfinite(heights)) or not np.ptp(heights):
        return False
    here = (heights[-1] - heights[0]) / (8.0 * distance)
    noise = SAFETY * max(_levels(heights, 3, 6)) / distance
    if jumps:
        return bool(abs(here) > (abs(found.value) + found.bound) / COARSE + noise)
    return bool(abs(here - found.value) > COARSE * abs(found.value) + found.bound + noise)


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


def _jump(f: Callable[[float], float], size: float, roundoff: float, *, rests: bool) -> float:
    """What a value near 0 is off by jumps; 0.0 where the function is smooth as far as rounding tells. A large
    jump counts where it is near, or where the values rest between two that may be of bfloat16.
    """
    jump, largest = _followed(f, _WIDE * size, roundoff)
    counts = jump < (_HIDING if rests else TRUSTED) * largest
    return jump if counts else _followed(f, _NARROW * size, roundoff, 8)[0]


def jump_share(f: Callable[[float], float], size: float, roundoff: float) -> float:
    """The share of themselves that values of `f` jump by, up to a few sizes from 0. A large jump is the
    function's own.
    """
    odd = (math.sqrt(5.0) - 1.0) / 2.0  # multiples of a power of 2 have no digits to lose
    jump, largest = _followed(f, odd * _WIDE * max(size, _FAR), roundoff)
    return jump / largest if jump < TRUSTED * largest else 0.0


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
            if levels[-1] <= LOST * roundoff * scale:
                break
            if len(last) == _LAST and max(last) <= _ZOOM * min(last):
                return max(last), largest
            centre += distance * (int(np.argmax(np.abs(np.diff(heights / scale, 8)))) + 4 - reach)
            reach = 8
        distance /= _ZOOM
    return 0.0, largest


def _kink(f: Callable[[float], float], size: float, noise: float) -> Slope | None:
    """The one-sided slopes if they differ; None if they converge to each other or a side is unknown."""
    told = (_stays(f, last * size, 16.0, noise) for last in (_STEPS[-1], 16.0 * _STEPS[-1]))
    if not next((stays for stays in told if stays is not None), False):
        return None
    left, right = (_best([_extrapolated(f, step * size, noise, side) for step in _STEPS]) for side in (-1, 1))
    if left is None or right is None or abs(left.value - right.value) <= left.bound + right.bound:
        return None
    return Slope(math.nan, max(left.bound, right.bound), left.value, right.value)


def _stays(f: Callable[[float], float], last: float, ratio: float, noise: float) -> bool | None:
    """Whether the one-sided slopes stay apart as the step shrinks by this ratio, twice; None where noise may
    explain that they are apart at the last one.
    """
    steps = (last * ratio**2, last * ratio, last)
    first, second, third = (abs(f(step) - 2.0 * f(0.0) + f(-step)) / step for step in steps)
    if not 4.0 * SAFETY * noise / last < third < math.inf:
        return None
    return first <= math.sqrt(ratio) * second and second <= math.sqrt(ratio) * third


def _extrapolated(f: Callable[[float], float], step: float, noise: float, side: int) -> Slope | None:
    """A slope and its bound from differences of `step` and its halves; None where the function is not finite.

    Each column of Neville's scheme takes another power of the step out of the error: even ones alone where
    the differences are central. The best row counts: where the values are steps, the last ones see only one.
    """
    columns, gain, weight = (6, 2.0, _NOISY_SIDE) if side else (3, 4.0, _NOISY)
    above: list[float] = []
    best = None
    for k in range(_ROWS):
        h = step / 2.0**k
        row = [(f(side * h) - f(0.0)) / (side * h) if side else (f(h) - f(-h)) / (2.0 * h)]
        for j, before in enumerate(above[: columns - 1], 1):
            row.append(row[-1] + (row[-1] - before) / (gain**j - 1.0))
        if not math.isfinite(row[-1]):
            return None
        if len(above) == columns:
            bound = SAFETY * abs(row[-1] - above[-1]) + weight * noise / h
            if best is None or bound < best.bound:
                best = Slope(row[-1], bound, row[-1], row[-1], step=h, noise=noise)
        above = row
    return best


def _best(found: Sequence[Slope | None]) -> Slope | None:
    """The estimate with the smallest bound, widened to hold those that contradict it."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    best = min(known, key=operator.attrgetter("bound"))
    apart = [(abs(one.value - best.value), one.bound) for one in known]
    return replace(best, bound=max([best.bound, *(a + b for a, b in apart if a > b + best.bound)]))

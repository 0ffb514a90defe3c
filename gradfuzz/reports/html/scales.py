"""Scales of plots: from a value to a pixel, and the values of the ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_MOST_TICKS = 6
_DECADES = 12
"""The decades of a symmetric log axis; smaller values are drawn at zero."""
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Scale:
    """`low` and `high` are transformed values; `start` and `end` are their pixels."""

    forward: Callable[[float], float]
    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: float) -> float:
        """The pixel, clipped slightly outside the frame."""
        share = (self.forward(value) - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def symlog(values: Iterable[float], start: float, end: float) -> Scale:
    """sign(v) log10(1 + |v|/c), c the decade of the smallest non-zero value: zero and both signs fit."""
    finite = [v for v in values if math.isfinite(v)] or [0.0]
    sizes = [abs(v) for v in finite if v] or [1.0]
    most = math.ceil(math.log10(max(sizes)))
    least = max(math.floor(math.log10(min(sizes))), most - _DECADES)
    unit = 10.0 ** max(least, -300)

    def forward(v: float) -> float:
        return math.copysign(math.log10(1.0 + abs(v) / unit), v)

    decades = [10.0**k for k in range(max(least, -300), min(most, 300) + 1)]
    finer = [m * d for d in decades for m in (1.0, 2.0, 5.0)]
    low, high = min(finite), max(finite)
    bottom, top = forward(low), forward(high)
    margin = 0.05 * (top - bottom) or 0.5
    bottom, top = bottom - margin, top + margin
    choices = [_both(decades), _both(finer), _round_steps(low, high)]
    inside = [[v for v in ticks if bottom <= forward(v) <= top] for ticks in choices]
    chosen = next((ticks for ticks in inside if len(ticks) >= 3), max(inside, key=len))
    return Scale(forward, bottom, top, start, end, _thinned(chosen, forward, (top - bottom) / 12))


def power(value: float) -> str:
    """The label of a tick: "0.01", "10⁻⁶", "-10⁹"."""
    if value == 0 or 1e-3 <= abs(value) <= 1e3:
        return f"{value:g}".replace("-", "\u2212")
    exponent = round(math.log10(abs(value)))
    if math.isclose(abs(value), 10.0**exponent, rel_tol=1e-9):
        return ("\u2212" if value < 0 else "") + "10" + str(exponent).translate(_SUPERSCRIPT)
    return f"{value:.3g}".replace("-", "\u2212")


def _thinned(ticks: Sequence[float], forward: Callable[[float], float], apart: float) -> tuple[float, ...]:
    """Ticks from zero on at regular steps, at least `apart` from each other."""
    every = max(1, math.ceil(len(ticks) / _MOST_TICKS))
    zero = ticks.index(0.0) if 0.0 in ticks else 0
    kept: list[float] = [ticks[zero]] if ticks else []
    for k in sorted(range(len(ticks)), key=lambda k: abs(k - zero)):
        free = all(abs(forward(ticks[k]) - forward(other)) >= apart for other in kept)
        if (k - zero) % every == 0 and free:
            kept.append(ticks[k])
    return tuple(sorted(kept))


def _both(sizes: Sequence[float]) -> list[float]:
    return [-v for v in reversed(sizes)] + [0.0] + list(sizes)


def _round_steps(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, about four of them."""
    rough = high / 4 - low / 4
    if not 1e-300 < rough < 1e300:
        return [low]
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(m * size for m in (1.0, 2.0, 5.0, 10.0) if m * size >= rough)
    first = math.ceil(low / step)
    return [float(f"{(first + k) * step:.12g}") for k in range(6) if (first + k) * step <= high]

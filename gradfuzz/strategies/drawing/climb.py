"""A search for the worst: Hypothesis's `target`, on how far an error is from what is allowed."""

from __future__ import annotations

import math

from hypothesis import currently_in_test_context, target

_LOWEST, _HIGHEST = -20.0, 20.0
"""Decimal logarithms: there is no more to be gained beyond."""


def climb(error: float | None, allowed: float = 1.0, *, label: str = "log10(error / allowed)") -> float:
    """Tells Hypothesis how bad this example is: log10(error / allowed), which is returned. Above 0 the error
    is not allowed.

    Inside a test it is given to `hypothesis.target`, so that later draws are like the worst ones so far;
    outside it is only computed. An error of 0 counts as -20, and one that is infinite or no number as 20.
    None is an error that nobody knows: nothing is told, and it counts as -20. Once per example for one
    `label`, as in `climb(measured.error_over_allowed)`.

    An assertion that is to shrink well fails on a margin, as gradfuzz's own verdicts do: only where the error
    is several times what is allowed. At the very border a smaller example can be a little less wrong, and
    shrinking would stop short or end at one that hardly fails.
    """
    if error is None:
        return _LOWEST
    ratio = error / allowed if allowed else (math.inf if error else 0.0)
    if math.isnan(ratio):
        score = _HIGHEST
    else:
        score = (
            min(max(math.log10(ratio), _LOWEST), _HIGHEST)
            if 0.0 < ratio < math.inf
            else (_HIGHEST if ratio else _LOWEST)
        )
    if currently_in_test_context():
        target(score, label=label)
    return score

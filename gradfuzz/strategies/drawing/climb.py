"""Search for the worst case: Hypothesis's `target` on the ratio of the error to the allowed error."""

from __future__ import annotations

import math

from hypothesis import currently_in_test_context, target

_LOWEST, _HIGHEST = -20.0, 20.0
"""Decimal logarithms: values beyond these bounds are clipped."""


def climb(error: float | None, allowed: float = 1.0, *, label: str = "log10(error / allowed)") -> float:
    """Tells Hypothesis how bad this example is: log10(error / allowed), which is returned. Above 0 the error
    is not allowed.

    Inside a test the value goes to `hypothesis.target`, so that later draws are like the worst ones so far;
    outside a test it is only computed. An error of 0 counts as -20, an infinite one or NaN as 20. None is an
    unknown error: nothing is told, and it counts as -20. Call it once per example and `label`, as in
    `climb(measured.error_over_allowed)`.

    For good shrinking, let an assertion fail on a margin, as gradfuzz's own verdicts do: only where the error
    is several times what is allowed. At the very border a smaller example can be a little less wrong. Then
    shrinking stops early, or ends at an example that hardly fails.
    """
    if error is None:
        return _LOWEST
    ratio = error / allowed if allowed else (math.inf if error else 0.0)
    if 0.0 < ratio < math.inf:
        score = min(max(math.log10(ratio), _LOWEST), _HIGHEST)
    else:
        score = _HIGHEST if ratio else _LOWEST  # NaN is true
    if currently_in_test_context():
        target(score, label=label)
    return score

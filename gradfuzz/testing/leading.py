"""In a test of Hypothesis's: the search is led to the worst error."""

from __future__ import annotations

import sys


def lead(error_over_allowed: float | None) -> None:
    """Makes log10(error / allowed) the target of the example that is running; elsewhere, and after the first
    time in one example, nothing.
    """
    if error_over_allowed is None or "hypothesis" not in sys.modules:
        return
    from hypothesis.errors import InvalidArgument

    from gradfuzz.strategies.drawing.climb import climb

    try:
        climb(error_over_allowed, label="log10(error / allowed), by gradfuzz")
    except InvalidArgument:  # an example has one value for a label, and this one has it
        return

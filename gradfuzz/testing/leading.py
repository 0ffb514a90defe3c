"""Leads the search of a Hypothesis test to the worst error."""

from __future__ import annotations

import sys


def lead(error_over_allowed: float | None) -> None:
    """Makes log10(error / allowed) the target of the running example, once; does nothing outside a test."""
    if error_over_allowed is None or "hypothesis" not in sys.modules:
        return
    from hypothesis.errors import InvalidArgument

    from gradfuzz.strategies.drawing.climb import climb

    try:
        climb(error_over_allowed, label="log10(error / allowed), by gradfuzz")
    except InvalidArgument:  # an example has one value per label, and this one has it
        return

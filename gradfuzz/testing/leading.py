"""What a running example of Hypothesis is told: its error, and the time that is not its own."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

_LABEL = "execute:gradfuzz"
"""What Hypothesis's observations call the time that a check takes."""


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


@contextlib.contextmanager
def untimed() -> Iterator[None]:
    """In an example of Hypothesis: its deadline does not count the time of the block.

    The deadline finds tests that are slow by themselves. A check traces and compiles, the first time for
    hundreds of milliseconds, and says nothing about the test. Hypothesis leaves out the steps of stateful
    tests in the same way.
    """
    times = _times()
    if times is None:
        yield
        return
    start, before = time.perf_counter(), times.get(_LABEL, 0.0)
    try:
        yield
    finally:
        times[_LABEL] = before + time.perf_counter() - start


def _times() -> dict[str, float] | None:
    """Where Hypothesis adds up what its deadline leaves out; None outside of an example."""
    if "hypothesis" not in sys.modules:
        return None
    from hypothesis import currently_in_test_context
    from hypothesis.control import current_build_context

    if not currently_in_test_context():
        return None
    times = getattr(current_build_context().data, "_stateful_run_times", None)
    return times if isinstance(times, dict) else None

"""A disagreement as a batch met it."""

from __future__ import annotations

from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.oracles.base import Point


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A disagreement or crash as it was met: not yet confirmed, not yet shrunk. `case.question` has the one
    point only.
    """

    case: CheckResult
    family: str
    index: int
    """The program's number in the sweep."""
    points: tuple[Point, ...] = ()
    """All points that were answered in one call, the case's own among them; none where each is answered by
    itself.
    """
    place: int = 0
    """Which of them is the case's own."""

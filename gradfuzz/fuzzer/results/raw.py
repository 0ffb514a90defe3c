"""A disagreement as a batch found it."""

from __future__ import annotations

from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.oracles.base import Point


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A disagreement or crash before it is confirmed and shrunk. `case.question` has only the one point."""

    case: CheckResult
    family: str
    index: int
    """The program's number in the sweep."""
    points: tuple[Point, ...] = ()
    """All points that were answered in one call, the case's own included; empty where each is alone."""
    place: int = 0
    """The place of the case's own point among them."""

"""A disagreement as a batch found it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.codec import OPTIONAL
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
    deadly: bool = field(default=False, metadata={OPTIONAL: True})
    """Whether workers died when it was asked: it is not asked again."""


_WORDS = 3


def said(message: str) -> str:
    """What an exception says, whatever the numbers: "ValueError: operands could not"."""
    name, _, text = message.partition(":")
    words = re.findall(r"[^\W\d_]+", text)[:_WORDS]
    return f"{name.split(maxsplit=1)[0] if name.strip() else name}: {' '.join(words)}"

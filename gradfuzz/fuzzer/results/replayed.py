"""What became of a finding that was asked about again."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.own_fault import OwnFault


class Status(enum.Enum):
    """The result of a recheck."""

    FIXED = "FIXED"
    """Right at every point."""
    FAILED = "FAILED"
    """Still wrong at a point."""
    ERROR = "ERROR"
    """Undecided."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result for one finding; `message` says where it is wrong, or why it is undecided."""

    finding: Finding
    status: Status
    message: str
    own_fault: OwnFault | None = None
    """Where it is undecided since gradfuzz itself failed."""

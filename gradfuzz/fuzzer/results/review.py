"""What became of recorded findings, and of the baseline, by the end of a sweep: data that reports show beside
what the sweep found.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import Finding


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """A finding that is accepted for now."""

    id: str
    """The finding's id, "GF-7c1e"."""
    signature: str
    target: str
    reason: str
    link: str = ""
    expires: datetime.date | None = None
    """The first day on which it counts again; None: it never does."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An entry with what it takes to ask about it again."""

    entry: BaselineEntry
    finding: Finding


@dataclass(frozen=True, slots=True)
class Baseline:
    """All that is accepted, by target and id."""

    accepted: tuple[Accepted, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """Known findings are those of the sweep that the baseline accepts; all others of the sweep are new or
    open.
    """

    known: tuple[BaselineEntry, ...] = ()
    """Entries that accept a finding of this sweep."""
    expired: tuple[BaselineEntry, ...] = ()
    """Entries of findings of this sweep that no longer accept them."""
    stale: tuple[BaselineEntry, ...] = ()
    """Entries whose finding is fixed: replayed, the target is right."""
    fixed: tuple[Finding, ...] = ()
    """Findings of earlier sweeps that are fixed."""
    first_seen: tuple[tuple[str, str], ...] = ()
    """(id of a finding of this sweep, when it was first recorded, as in "2026-03-01") where that was before
    this sweep.
    """

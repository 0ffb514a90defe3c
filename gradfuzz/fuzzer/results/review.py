"""The state of recorded findings and of the baseline at the end of a sweep, for reports to show."""

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
    """The first day on which the finding counts again; None: never."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An entry with the finding, so that it can be asked about again."""

    entry: BaselineEntry
    finding: Finding


@dataclass(frozen=True, slots=True)
class Baseline:
    """All accepted findings, by target and id."""

    accepted: tuple[Accepted, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """Known findings are those of the sweep that the baseline accepts; the sweep's others are new or open."""

    known: tuple[BaselineEntry, ...] = ()
    """Entries that accept a finding of this sweep."""
    expired: tuple[BaselineEntry, ...] = ()
    """Expired entries of findings of this sweep."""
    stale: tuple[BaselineEntry, ...] = ()
    """Entries whose finding is fixed: rechecked, the target is right."""
    fixed: tuple[Finding, ...] = ()
    """Findings of earlier sweeps that are fixed."""
    first_seen: tuple[tuple[str, str], ...] = ()
    """(id, date first recorded, as in "2026-03-01") of this sweep's findings known from earlier sweeps."""

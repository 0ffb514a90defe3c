"""The report card of a probe, as data: tables of canonical cases with a label per row."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["Label", "ProbeReport", "ProbeTable", "Value"]

Value = str | float | int | None
"""A cell: text, a number, or nothing."""


class Label(enum.Enum):
    """What a row says about the target."""

    DIFFERS = "differs"
    AGREES = "agrees"
    COINCIDENCE = "agrees by coincidence"
    """It agrees here, and differs at a neighbouring point of the same program."""
    VACUOUS = "vacuous"
    """It agrees, but the true derivative is zero here and at the neighbouring points: the row tests nothing."""
    INCONCLUSIVE = "inconclusive"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """One table. The last column is always `label`, and holds the value of a `Label`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    """What was tried and what came of it, one sentence each."""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a target answered to a suite of canonical cases."""

    target: str
    version: str
    suite: str
    tables: tuple[ProbeTable, ...]
    summary: tuple[str, ...] = ()

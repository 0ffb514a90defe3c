"""The report card of a probe, as data: tables of canonical cases with a label per row."""

from __future__ import annotations

import enum
from dataclasses import dataclass

Value = str | float | int | None
"""A cell: text, a number, or nothing."""


class Label(enum.Enum):
    """What a row says about the target."""

    DIFFERS = "differs"
    AGREES = "agrees"
    COINCIDENCE = "agrees by coincidence"
    """It agrees here and differs at a neighbouring point of the same program."""
    VACUOUS = "vacuous"
    """It agrees, but the true derivative is zero here and at the neighbouring points: nothing is tested."""
    INCONCLUSIVE = "inconclusive"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """One table. The last column is always `label` and holds the value of a `Label`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    """What was tried and what was found, one sentence each."""
    heads: int = 0
    """This many columns say what a row is about; the others are one-word results. 0: a table of figures."""


@dataclass(frozen=True, slots=True)
class ProbeCell:
    """A wrong cell or an error in words, with a script. Entry points with equal answers share it."""

    word: str
    """"wrong" or "error"."""
    ways: tuple[str, ...]
    op: str
    use: str
    column: str
    by: tuple[str, ...]
    """The modes, as in "fwd, rev", innermost first; the script asks by the first of them."""
    text: str
    references: tuple[str, ...]
    """The references that confirm the truth."""
    script: str
    """A standalone script of the first entry point; exits 1 while the cell is wrong. May be empty."""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a target answered to a suite of canonical cases."""

    target: str
    version: str
    suite: str
    tables: tuple[ProbeTable, ...]
    summary: tuple[str, ...] = ()
    cells: tuple[ProbeCell, ...] = ()
    """Cells that are wrong or errors, in the order of their numbers, which start at 1."""
    rerun: str = ""
    """The command that repeats the probe."""

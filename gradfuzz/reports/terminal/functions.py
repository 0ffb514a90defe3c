"""The catalogue of a library's functions for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from gradfuzz.reports.common import plain
from gradfuzz.reports.common.pieces import paragraph
from gradfuzz.reports.terminal.sheet import Sheet

NOT_ASKED = (
    "No sweep asks these functions yet: the catalogue says what a library offers, and nothing of its answers."
)


def render(
    target: str, version: str, rows: Sequence[Mapping[str, Any]], counts: Mapping[str, int]
) -> RenderableType:
    """The functions by outcome and reason, each with its public names; last the counts, which add up."""
    rows = plain.inert(rows)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["outcome"], row["why"]), []).append(row)
    parts: list[RenderableType] = []
    table = Sheet("outcome", "why", "functions", numeric=["functions"])
    order = list(counts)
    for (outcome, why), members in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), -len(g[1]))):
        lines = [line for row in members for line in _lines(row)]
        parts += [
            Text(f"{outcome}: {why} ({len(members):,})", style="bold"),
            Text("\n".join(lines)),
            Text(""),
        ]
        table.add_row(outcome, why, f"{len(members):,}")
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
    library = f"{plain.line(target)} {plain.line(version)}"
    end = f"{library} lists {len(rows):,} functions and other things that can be called: {told}."
    return Group(*parts, table, Text(""), paragraph(end), paragraph(NOT_ASKED))


def _lines(row: Mapping[str, Any]) -> list[str]:
    """A function: its signature, and its public names below."""
    names = ", ".join(row["names"])
    return [f"  {row['signature']}", *([f"      {names}"] if names else [])]

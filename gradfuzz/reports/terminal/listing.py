"""The recorded findings, a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.reports.common import plain, titles
from gradfuzz.reports.terminal.sheet import Sheet


def render(rows: Sequence[tuple[Finding, str, int, str]]) -> RenderableType:
    """A table of findings, each with its state, its latest run, and the day on which it was first seen."""
    table = Sheet("id", "what", "target", "state", "run", "since", numeric=["run"], heads=2)
    for finding, state, run, since in rows:
        finding = plain.inert(finding)
        target = f"{finding.target} {finding.version}"
        table.add_row(finding.id, titles.title(finding), target, state, str(run), since)
    return table

"""The formats of a sweep's report, a row each.

A renderer gets the end of a sweep and its review, and returns the whole text. Its module is imported on first
use, and this one imports none, as the help of commands reads the names. `ndjson` is also a stream: a running
sweep writes its events line by line (`fuzzer.store.stream`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.events import SweepFinished
    from gradfuzz.fuzzer.results.review import Review

    Renderer = Callable[[SweepFinished, Review | None], str]

STREAM = "ndjson"
"""The format that is written while a sweep runs."""


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """`file` is the default file, "" for stdout; `module` is the module of this package with `render`."""

    name: str
    file: str
    module: str

    def render(self, finished: SweepFinished, review: Review | None) -> str:
        """The whole text."""
        module = importlib.import_module(f"gradfuzz.reports.{self.module}")
        return cast("Renderer", module.render)(finished, review)


FORMATS: dict[str, ReportFormat] = {
    row.name: row
    for row in (
        ReportFormat("terminal", "gradfuzz-report.txt", "terminal.report"),
        ReportFormat("concise", "gradfuzz-findings.txt", "terminal.concise"),
        ReportFormat("json", "gradfuzz-report.json", "machine.json"),
        ReportFormat("html", "gradfuzz-report.html", "html"),
        ReportFormat("junit", "gradfuzz-junit.xml", "machine.junit"),
        ReportFormat("sarif", "gradfuzz.sarif", "machine.sarif"),
        ReportFormat("github", "", "markdown.github"),
        ReportFormat("markdown", "gradfuzz-report.md", "markdown.report"),
        ReportFormat(STREAM, "gradfuzz-events.ndjson", "machine.ndjson"),
    )
}
"""The formats by name."""


def of_file(path: str) -> str:
    """The format that a file's ending says: "html" of "sweep.html"; "" where it says none, or two."""
    ending = Path(path).suffix
    names = [row.name for row in FORMATS.values() if ending and Path(row.file).suffix == ending]
    return names[0] if len(names) == 1 else ""

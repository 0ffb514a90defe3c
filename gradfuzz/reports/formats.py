"""The formats that a sweep's end is written in: a row each.

A renderer gets the end of a sweep and its review, and returns the whole text. It is loaded when it is asked
for. `ndjson` is a stream besides: while a sweep runs, its events are written line by line (`fuzzer.stream`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.review import Review

Renderer = Callable[[SweepFinished, Review | None], str]

STREAM = "ndjson"
"""The format that is written as a sweep runs."""


@dataclass(frozen=True, slots=True)
class Format:
    """`file` is where it is written to if nobody says where, stdout if it is empty; `module` the one of this
    room whose `render` writes it.
    """

    name: str
    file: str
    module: str

    def render(self, finished: SweepFinished, review: Review | None) -> str:
        """The whole text."""
        module = importlib.import_module(f"gradfuzz.reports.{self.module}")
        return cast(Renderer, module.render)(finished, review)


FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("terminal", "gradfuzz-report.txt", "terminal.report"),
        Format("concise", "gradfuzz-findings.txt", "terminal.concise"),
        Format("json", "gradfuzz-report.json", "machine.json"),
        Format("html", "gradfuzz-report.html", "html"),
        Format("junit", "gradfuzz-junit.xml", "machine.junit"),
        Format("sarif", "gradfuzz.sarif", "machine.sarif"),
        Format("github", "", "markdown.github"),
        Format("markdown", "gradfuzz-report.md", "markdown.report"),
        Format(STREAM, "gradfuzz-events.ndjson", "machine.ndjson"),
    )
}
"""By name."""

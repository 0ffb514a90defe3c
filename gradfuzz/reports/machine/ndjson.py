"""A sweep as JSON lines, one event each; `gradfuzz report FILE` turns them into any report."""

from __future__ import annotations

import json

from gradfuzz.fuzzer.results.events import Event, FindingFound, SweepFinished
from gradfuzz.fuzzer.results.records import to_document
from gradfuzz.fuzzer.results.review import Review


def line(event: Event | Review) -> str:
    """An event, or the review after the last one, as a line with its line break."""
    return json.dumps(to_document(event), allow_nan=False) + "\n"


def render(finished: SweepFinished, review: Review | None) -> str:
    """The end of the stream: the findings, the end of the sweep and its review."""
    events: list[Event | Review] = [*map(FindingFound, finished.findings), finished]
    return "".join(map(line, events if review is None else [*events, review]))

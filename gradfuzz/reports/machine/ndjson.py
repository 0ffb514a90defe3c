"""A sweep as a stream of JSON documents, one event a line. A reader takes them as they come; `gradfuzz report
FILE` makes any report of them.
"""

from __future__ import annotations

import json

from gradfuzz.fuzzer.results.events import Event, FindingFound, SweepFinished
from gradfuzz.fuzzer.results.records import to_document
from gradfuzz.fuzzer.results.review import Review


def line(event: Event | Review) -> str:
    """An event, or the review after the last one, as a line that ends with a line break."""
    return json.dumps(to_document(event), allow_nan=False) + "\n"


def render(finished: SweepFinished, review: Review | None) -> str:
    """What is left of the stream when a sweep is over: its findings, its end and its review."""
    events: list[Event | Review] = [*map(FindingFound, finished.findings), finished]
    return "".join(map(line, events if review is None else [*events, review]))

"""Reads an event stream, as `reports.machine.ndjson` writes it, of a finished or a killed sweep."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.errors import RecordError
from gradfuzz.fuzzer.results.codec import Json
from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.records import from_document, loads, read_text
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.runs import cut_short

SUFFIXES = (".ndjson", ".jsonl")
"""How the name of an event stream ends."""


def is_stream(path: Path) -> bool:
    """Whether it is text and no database; judged by its name where it does not exist."""
    if not path.is_file():
        return path.suffix in SUFFIXES
    with path.open("rb") as file:
        return file.read(1) == b"{"


def read(path: Path) -> tuple[SweepFinished, Review | None]:
    """The end of the sweep that wrote the file and its review; for a killed sweep, what it had written.

    Raises `RecordError` for an invalid stream. A last line without a line break was cut off and does not
    count.
    """
    started: SweepStarted | None = None
    progress: Progress | None = None
    findings: dict[str, Finding] = {}
    finished: SweepFinished | None = None
    review: Review | None = None
    *lines, _ = read_text(path).split("\n")
    for number, text in enumerate(lines, 1):
        source = f"{path}, line {number}"
        data: Json = loads(text, source)
        match data.get("type") if isinstance(data, dict) else None:
            case "sweep started" if started is not None or finished is not None:
                one = "a second sweep starts here, and a report is of one sweep"
                raise RecordError(f"{source}: {one}; keep each sweep in a file of its own")
            case "sweep started":
                started = from_document(data, SweepStarted, source)
            case "progress":
                progress = from_document(data, Progress, source)
            case "finding found":
                found = from_document(data, FindingFound, source).finding
                findings[found.id] = found
            case "sweep finished":
                finished = from_document(data, SweepFinished, source)
            case "review":
                review = from_document(data, Review, source)
            case other:
                raise RecordError(f"{source}: a line of an event stream is an event, and this is {other!r}")
    if finished is not None:
        return finished, review
    if started is None:
        raise RecordError(f"{path}: this is no event stream: no sweep starts in it")
    return cut_short(started, progress, list(findings.values())), review

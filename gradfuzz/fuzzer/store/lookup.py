"""Finds recorded and exported findings by an id, a run's number or a path."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from gradfuzz.errors import RecordError, UsageError
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.records import from_document, load
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.baseline import read as read_baseline
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.store.stream import SUFFIXES, is_stream
from gradfuzz.fuzzer.store.stream import read as read_stream


def recorded(store: Store, text: str) -> Finding:
    """The finding with this id, as recorded last. `UsageError` where there is none, or several."""
    finding = store.latest(chosen(text, store.ids(), str(store.path)))
    assert finding is not None, "it is one of the store's"
    return finding


def chosen(text: str, ids: list[str], place: str) -> str:
    """The id that equals `text`, or the only one that begins with it; "GF-" may be left out."""
    wanted = text.lower().removeprefix("gf-")
    fits = [id for id in ids if id.lower().removeprefix("gf-").startswith(wanted)]
    exact = [id for id in fits if len(id) == len(wanted) + 3]
    if len(fits) == 1 or exact:
        return (exact or fits)[0]
    if fits:
        some = f"{', '.join(fits[:8])}{' and more' if len(fits) > 8 else ''}"
        raise UsageError(f"{text!r} may be {some}; write more of the id")
    near = difflib.get_close_matches(f"GF-{wanted}", ids, n=3, cutoff=0.0)
    others = f"the nearest are {', '.join(near)}" if near else "none is in it"
    raise UsageError(f"no finding {text!r} is in {place}; {others}")


def is_path(text: str) -> bool:
    """Whether it names a file or folder, existing or not, rather than an id or a number."""
    return (
        "/" in text or "\\" in text or text.endswith((".json", *SUFFIXES, ".sqlite")) or Path(text).exists()
    )


def findings_in(path: Path, store: Path | None = None) -> list[Finding]:
    """The findings in a JSON file or in all JSON files of a folder.

    A file may hold a finding, a sweep's document, a baseline or an event stream. A baseline names findings
    that are in `store`.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".json", *SUFFIXES))
        if not files:
            raise UsageError(f"no finding is in {path}: it has no file whose name ends in .json")
        return [finding for file in files for finding in findings_in(file, store)]
    if path.suffix in SUFFIXES:
        return list(read_stream(path)[0].findings)
    data = load(path)
    fields = data if isinstance(data, dict) else {}
    if fields.get("type") == "baseline":
        accepted = read_baseline(path).accepted
        missing = {item.entry.id for item in accepted if item.finding is None}
        if missing and (store is None or not store.exists()):
            there = f"and there is no store {store}" if store else "and no store is given"
            raise UsageError(
                f"{path} has only the ids of findings that are kept in a store, {there}; name it with --store"
            )
        stored: dict[str, Finding] = {}
        if missing and store is not None:
            with Store(store) as opened:
                stored = {id: recorded(opened, id) for id in missing}
        return [item.finding or stored[item.entry.id] for item in accepted]
    if isinstance(fields.get("findings"), list) and "type" not in fields:
        return [_of_sweep(item, f"{path}, findings[{k}]") for k, item in enumerate(data["findings"])]
    return [from_document(data, Finding, str(path))]


@dataclass(frozen=True, slots=True)
class Compared:
    """A side of a comparison."""

    findings: tuple[Finding, ...]
    complete: bool | None
    """Whether its sweep asked all that it wanted to ask; None for findings that come from no sweep."""


def compared(text: str, store: Path) -> Compared:
    """The findings of a run in `store`, by its number, or of a file or folder."""
    path = Path(text)
    if not is_path(text) or path.suffix in (*SUFFIXES, ".sqlite"):
        finished = sweep_of(text, store)[0]
        return Compared(finished.findings, finished.complete)
    found = tuple(findings_in(path, store))
    document = load(path) if path.is_file() else None
    complete = document.get("complete") if isinstance(document, dict) else None
    return Compared(found, complete if isinstance(complete, bool) else None)


def _of_sweep(item: object, source: str) -> Finding:
    if not isinstance(item, dict) or "record" not in item:
        export = "export it with `gradfuzz show ID --format json`"
        raise RecordError(f"{source}: it has no record to replay; sweep again, or {export}")
    return from_document(item["record"], Finding, source)


def sweep_of(text: str, store: Path) -> tuple[SweepFinished, Review | None]:
    """The end of a sweep, given by a run's number in `store`, a store (its last run), or an event stream."""
    if is_path(text) and is_stream(Path(text)):
        return read_stream(Path(text))
    number = None if is_path(text) else _number(text)
    with Store(Path(text) if is_path(text) else store) as opened:
        runs = opened.runs()
        if not runs:
            raise UsageError(f"{opened.path} has no run yet; a sweep makes one")
        return opened.finished(runs[-1].number if number is None else number)


def _number(text: str) -> int:
    if not text.isdecimal():
        example = "a run is named by its number, as in `gradfuzz report 3`"
        raise UsageError(f"{text!r} is neither the number of a run nor a file; {example}")
    return int(text)

"""The findings that are accepted for now, in a file beside the code, made to be committed.

Strict JSON with one entry for each finding: why it is accepted, until when, and the finding itself, so that
it can be asked about again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
from pathlib import Path

from gradfuzz.errors import StoreError, UsageError
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.records import from_document, load, to_document
from gradfuzz.fuzzer.results.review import Accepted, Baseline, BaselineEntry
from gradfuzz.fuzzer.store.runs import signature_of

FILE = Path("gradfuzz-baseline.json")
"""Its path, relative to the current directory."""


def read(path: Path = FILE) -> Baseline:
    """The baseline in the file; an empty one without a file. `RecordError` for an invalid file."""
    return from_document(load(path), Baseline, str(path)) if path.exists() else Baseline()


def write(baseline: Baseline, path: Path = FILE) -> None:
    """Replaces the file in one step. `StoreError` where it cannot be written."""
    text = json.dumps(to_document(baseline), indent=2, allow_nan=False) + "\n"
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise StoreError(f"{path}: the baseline cannot be written: {error.strerror or error}") from error


def added(baseline: Baseline, finding: Finding, entry: BaselineEntry) -> Baseline:
    """The baseline with the finding accepted; an earlier entry for it is replaced."""
    bare = dataclasses.replace(finding, script="", ports={}, evidence=None)
    others = [item for item in baseline.accepted if item.entry.signature != entry.signature]
    items = sorted([*others, Accepted(entry, bare)], key=lambda item: (item.entry.target, item.entry.id))
    return Baseline(tuple(items))


def entry_of(
    finding: Finding, reason: str, link: str = "", expires: datetime.date | None = None
) -> BaselineEntry:
    """An entry that accepts the finding. `UsageError` where it would accept nothing or has no reason."""
    if not reason.strip():
        raise UsageError("a baseline entry needs a reason: --reason 'reported, see the link'")
    if expires is not None and expires <= datetime.datetime.now(datetime.UTC).date():
        first_day = "that is the first day on which the finding counts again"
        raise UsageError(f"--expires {expires} is over: {first_day}")
    return BaselineEntry(finding.id, signature_of(finding), finding.target, reason.strip(), link, expires)


def removed(baseline: Baseline, entry: BaselineEntry) -> Baseline:
    """The baseline without the entry."""
    return Baseline(tuple(item for item in baseline.accepted if item.entry != entry))


def accepts(entry: BaselineEntry, today: datetime.date) -> bool:
    """Whether the entry still accepts: it stops on the day on which it expires."""
    return entry.expires is None or today < entry.expires

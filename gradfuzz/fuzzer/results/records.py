"""Findings, events, reviews and settings as versioned JSON documents.

    {"schema": 4, "type": "finding", "text": "def f(x): ...", "id": "GF-7c1e", ...}

A document is an object with its schema, its type and all fields of the value, in the form of `codec`. A
finding also has the text of its program, or the code of its call, for the reader, and where it is shown the
addresses of the reports that it is `reported` as; neither is read back. Documents are strict JSON, read field
by field and never executed. `MIGRATIONS` brings a document of an older schema up to date; a newer schema is
refused. To add, remove or redefine a field, raise `SCHEMA` by one and add a row there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

from gradfuzz.errors import RecordError
from gradfuzz.fuzzer.results.codec import Json, decode, encode
from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Baseline, Review
from gradfuzz.fuzzer.results.shown import source

SCHEMA = 4
"""The schema that is written. Schema 3, of gradfuzz 0.2, had more evidence: `_from_3` takes it away."""

FOR_READERS = ("text", "reported")
"""What documents have besides the fields of their values."""

TYPES: Mapping[str, type] = {
    "finding": Finding,
    "sweep started": SweepStarted,
    "progress": Progress,
    "finding found": FindingFound,
    "sweep finished": SweepFinished,
    "review": Review,
    "baseline": Baseline,
}
"""The types of documents."""

_NAMES = {of: name for name, of in TYPES.items()}

T = TypeVar("T")


def to_document(
    value: Finding | SweepStarted | Progress | FindingFound | SweepFinished | Review | Baseline,
) -> dict[str, Json]:
    """The value as data for `json.dumps(..., allow_nan=False)`."""
    own = type(value)
    head: dict[str, Json] = {"schema": SCHEMA, "type": _NAMES[own]}
    if isinstance(value, Finding):
        head["text"] = source(value)
    return {**head, **encode(own, value)}


def from_document(data: Json, of: type[T], source: str) -> T:
    """The value of the type `of` that `to_document` wrote, now or in an older gradfuzz.

    Raises `RecordError`, which names `source` and the place in it.
    """
    if not isinstance(data, dict):
        advice = "a record has the fields schema and type; export it again"
        raise RecordError(f"{source}: this is not a JSON object; {advice}")
    fields = _migrated(dict(data), source)
    name = fields.pop("type", None)
    if name != _NAMES[of]:
        raise RecordError(f"{source}: the record has the type {name!r}; give one of the type {_NAMES[of]!r}")
    del fields["schema"]
    for name in FOR_READERS:
        fields.pop(name, None)
    try:
        return decode(of, fields)
    except RecordError as error:
        raise RecordError(f"{source}: {error}; mend it there, or export it again") from error


# Text -------------------------------------------------------------------------------------------------------


def loads(text: str, source: str) -> Json:
    """The data of a JSON text. `RecordError` names `source`, line and column where it is not strict JSON."""

    def refuse(constant: str) -> NoReturn:
        advice = f'such a float is written as a string, "{constant}"'
        raise RecordError(f"{source}: {constant} is not JSON; {advice}")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        advice = "mend it there, or export it again"
        raise RecordError(f"{source}: not JSON at {place} ({error.msg}); {advice}") from error
    except (RecursionError, ValueError) as error:
        raise RecordError(f"{source}: not JSON that can be read ({error}); export it again") from error


def load(path: Path) -> Json:
    """The data of a JSON file. `RecordError` where it cannot be read."""
    return loads(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a file. `RecordError` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: not UTF-8 at byte {error.start}; a record is JSON in UTF-8") from error
    except OSError as error:
        raise RecordError(f"{path}: it cannot be read: {error.strerror or error}") from error


# Migration --------------------------------------------------------------------------------------------------


def _migrated(data: dict[str, Json], source: str) -> dict[str, Json]:
    """The document in the current schema."""
    while (schema := data.get("schema")) != SCHEMA:
        if type(schema) is not int or schema not in MIGRATIONS:
            newer = type(schema) is int and schema > SCHEMA
            advice = "it was written by a newer gradfuzz; install that" if newer else f"it is {TOO_OLD}"
            if schema is None:
                advice = "`gradfuzz show ID --format json` writes records"
                raise RecordError(f"{source}: it has no schema, so it is not a record of gradfuzz; {advice}")
            unknown = f"schema {schema!r} is unknown to this gradfuzz, which knows {OLDEST} to {SCHEMA}"
            raise RecordError(f"{source}: {unknown}: {advice}")
        data = {**MIGRATIONS[schema](data), "schema": schema + 1}
    return data


def _from_3(data: dict[str, Json]) -> dict[str, Json]:
    """Drops the errors of central differences, and the derivatives by carries of loops."""
    for finding in _findings(data):
        if isinstance(evidence := finding.get("evidence"), dict):
            finding["evidence"] = {k: v for k, v in evidence.items() if k not in ("differences", "adjoints")}
    return data


def _findings(data: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The findings in a document of any type."""
    accepted = [item.get("finding") for item in data.get("accepted", []) if isinstance(item, dict)]
    inner = {
        "finding": [data],
        "finding found": [data.get("finding")],
        "sweep finished": data.get("findings"),
        "review": data.get("fixed"),
        "baseline": accepted,
    }
    for finding in inner.get(str(data.get("type"))) or []:
        if isinstance(finding, dict):
            yield finding


MIGRATIONS: Mapping[int, Callable[[dict[str, Json]], dict[str, Json]]] = {3: _from_3}
"""From each schema to the next."""

OLDEST = min(MIGRATIONS)

TOO_OLD = "of a gradfuzz before 0.2, and cannot be read; move it away, then sweep or accept again"
"""What is said of documents and stores with schemas before `OLDEST`."""

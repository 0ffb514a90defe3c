"""The calls of library functions that a program makes, noted while it runs.

A call is noted where all its arguments are data: arrays of at most `MOST` entries, numbers, texts, dtypes,
and lists of them. Arrays that the library is tracing have no entries, and their calls are not noted. Of the
calls of a function with arguments of the same kinds and shapes only the first one is kept.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradfuzz.errors import RecordError
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.fuzzer.results.records import load
from gradfuzz.libraries.library import Library

MOST = 64
"""Entries of an array: forward mode asks for them one by one."""

SCHEMA = 1
"""The form of the file."""

_PLAIN = (bool, int, float, complex, str, type(None))


class Recording:
    """The calls that were noted, and how many were not."""

    def __init__(self, library: Library) -> None:
        self.calls: list[Call] = []
        self.skipped: Counter[str] = Counter()
        """Reason -> calls that were not noted."""
        self._library = library
        self._known: set[object] = set()
        self._inside = False

    def note(self, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
        """Notes a call of the function with this public name."""
        if self._inside:  # of the library's own
            return
        self._inside = True
        try:
            arguments = [self._argument("", a) for a in args]
            arguments += [self._argument(keyword, a) for keyword, a in kwargs.items()]
            call = Call(self._library.name, name, tuple(arguments))
            if not any(True for _ in call.differentiated()):
                raise _NotData("no array of floats is among the arguments")
            kind = name, tuple(map(_kind, arguments))
            if kind not in self._known:
                self._known.add(kind)
                self.calls.append(call)
        except _NotData as reason:
            self.skipped[str(reason)] += 1
        finally:
            self._inside = False

    def _argument(self, keyword: str, value: Any) -> Argument:
        if isinstance(value, _PLAIN):
            return Argument(keyword, literal=repr(value))
        if isinstance(value, (list, tuple)):
            if all(isinstance(item, _PLAIN) for item in value):
                return Argument(keyword, literal=repr(value))
            return Argument(keyword, items=tuple(self._argument("", item) for item in value))
        dtype = self._library.dtype_name(value)
        if dtype is not None:
            return Argument(keyword, literal=f"dtype:{dtype}")
        array = self._library.concrete(value)
        if array is None:
            raise _NotData(f"an argument of type {type(value).__name__} is no data")
        if array.size > MOST:
            raise _NotData(f"an array has more than {MOST} entries")
        return Argument(keyword, array=array)


class _NotData(Exception):  # noqa: N818 - the reason why a call is not noted
    pass


def _kind(argument: Argument) -> object:
    """What two calls have in common that count as the same."""
    if argument.array is not None:
        return argument.keyword, argument.array.dtype.name, argument.array.shape
    if argument.items is not None:
        return argument.keyword, tuple(map(_kind, argument.items))
    return argument.keyword, argument.literal


@contextlib.contextmanager
def recording(library: Library, names: Iterable[str]) -> Iterator[Recording]:
    """Notes the calls of the functions with these public names, as long as it is open."""
    found = Recording(library)
    with library.watched(found.note, frozenset(names)):
        yield found


# The file ---------------------------------------------------------------------------------------------------


def write(path: Path, calls: Iterable[Call]) -> None:
    """Writes the calls."""
    document = {"schema": SCHEMA, "type": "calls", "calls": [encode(Call, call) for call in calls]}
    path.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def read(path: Path) -> list[Call]:
    """The calls that `write` wrote; `RecordError` for another file."""
    document = load(path)
    if not isinstance(document, dict) or document.get("type") != "calls":
        raise RecordError(f"{path}: it has no recorded calls; `gradfuzz record` writes such files")
    if document.get("schema") != SCHEMA:
        known = f"this gradfuzz reads {SCHEMA}"
        raise RecordError(f"{path}: its form has the number {document.get('schema')!r}, and {known}")
    return [decode(Call, call, f"{path}, call {k}") for k, call in enumerate(document["calls"])]


def by_function(calls: Iterable[Call]) -> dict[str, tuple[Call, ...]]:
    """The calls by the name of their function."""
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(call.function, []).append(call)
    return {name: tuple(members) for name, members in found.items()}

"""The calls that a program makes, noted while it runs: of a library's functions, or of a package's own.

A call is noted where all its arguments are data, or objects that can be kept (`objects`). Arrays that the
library is tracing have no entries, and their calls are not noted. Of the calls of a function with arguments
of the same kinds and shapes only the first one is kept.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.errors import RecordError, UsageError
from gradfuzz.fuzzer.calling.objects import TOO_MANY, ArgumentWriter, NotData, check_trust
from gradfuzz.fuzzer.calling.public_calls import Package, told
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.fuzzer.results.records import load
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import CALLED, Library
from gradfuzz.tracing.common.leaves import leaves_of

MOST = 64
"""Entries of an array: forward mode asks for them one by one."""

_MOST_OF_PACKAGE = 4096
"""Entries of an array of a package's call: it is played again with fewer rows, or is a constant."""

_NOTED, _LOOKED_AT = 12, 400
"""Calls of one function of a package that are kept, and that are looked at: they may be thousands. More are
kept where they hold objects of other classes.
"""

_IN_VAIN = 9
"""For so many more counts a call that was looked at for long, and in vain."""

SCHEMA = 2
"""The form of the file. In form 1 no argument is an object."""


class Recording:
    """The calls that were noted, and how many were not."""

    def __init__(
        self, library: Library | None, package: Package | None = None, *, pickles: bool = False
    ) -> None:
        """Of `library`, or of a `package`, whose library is that of the arrays of each call. `pickles`:
        whether functions without a name are kept.
        """
        self.calls: list[Call] = []
        self.skipped: Counter[str] = Counter()
        """Reason -> calls that were not noted."""
        self._library = library
        self._package = package
        self._pickles = pickles
        self._known: set[object] = set()
        self._seen: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._inside = False

    def note(self, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Call | None:
        """Notes a call of the function with this public name. Returns it where it is kept."""
        if self._inside or self._is_enough(name):  # of the library's own
            return None
        self._inside = True
        try:
            call = self._call(name, list(args), kwargs)
            if not any(True for _ in call.differentiated()):
                raise NotData("no array of floats is among the arguments")
            kind = name, tuple(map(_kind, call.arguments))
            classes = name, frozenset(classes_in(call))
            is_enough = self._package is not None and self._kept[name] >= _NOTED and classes in self._known
            if kind not in self._known and not is_enough:
                self._known |= {kind, classes}
                self._kept[name] += 1
                self.calls.append(call)
                return call
        except NotData as reason:
            self.skipped[str(reason)] += 1
            self._seen[name] += _IN_VAIN if str(reason) == TOO_MANY else 0
        except Exception as error:  # noqa: BLE001 - the program goes on as it does alone
            self.skipped[f"reading the arguments raised {type(error).__name__}"] += 1
        finally:
            self._inside = False
        return None

    def take_back(self, call: Call) -> None:
        """Forgets a call that came to nothing, so that one like it is kept."""
        self.calls = [one for one in self.calls if one is not call]
        self._known.discard((call.function, tuple(map(_kind, call.arguments))))
        self._kept[call.function] -= 1
        self.skipped["the call raised, or returned None"] += 1

    def _is_enough(self, name: str) -> bool:
        self._seen[name] += 1
        return self._package is not None and self._seen[name] > _LOOKED_AT

    def _call(self, name: str, args: list[Any], kwargs: Mapping[str, Any]) -> Call:
        package = self._package
        library = self._library or _library_of((args, dict(kwargs)), package.name if package else "")
        most = _MOST_OF_PACKAGE if package else MOST
        writer = ArgumentWriter(library, entries=most, pickles=self._pickles, package=package)
        arguments = [writer.argument("", a) for a in args]
        arguments += [writer.argument(keyword, a) for keyword, a in kwargs.items()]
        return Call(library.name, name, tuple(arguments), is_recorded=package is not None)


def _library_of(values: Any, package: str) -> Library:
    """The library of the arrays among the arguments, else the one that the package itself imports."""
    loaded = [library_named(name) for name in CALLED if name in sys.modules and name != "autograd"]
    found = [leaf for _, leaf in leaves_of(values)]
    found += [one for leaf in found for one in getattr(leaf, "__dict__", {}).values()]
    for library in loaded:
        if any(map(library.is_array, found)):
            return library
    own = [m for n, m in list(sys.modules.items()) if f"{n}.".startswith(f"{package.partition('.')[0]}.")]
    named = Counter(
        getattr(value, "__name__", "").partition(".")[0]
        for module in own
        for value in list(vars(module).values())
        if isinstance(value, type(sys))
    )
    used = sorted((one for one in loaded if named[one.name]), key=lambda one: -named[one.name])
    if not used:
        raise NotData("its arrays are of no library that differentiates")
    return used[0]


def _kind(argument: Argument) -> object:
    """What two calls have in common that count as the same."""
    if argument.array is not None:
        return argument.keyword, argument.array.dtype.name, argument.array.shape
    if argument.items is not None:
        return argument.keyword, argument.made, tuple(map(_kind, argument.items))
    return argument.keyword, argument.literal


@contextlib.contextmanager
def recording(library: Library, names: Iterable[str]) -> Iterator[Recording]:
    """Notes the calls of the functions with these public names, as long as it is open."""
    found = Recording(library)
    with library.watched(found.note, frozenset(names)):
        yield found


@contextlib.contextmanager
def recording_package(name: str, *, pickles: bool) -> Iterator[Recording]:
    """Notes the calls of the public functions of a package, and of the methods of its classes."""
    package = Package(name)
    found = Recording(None, package, pickles=pickles)
    with told(package, found.note, found.take_back):
        yield found


# The file ---------------------------------------------------------------------------------------------------


def write(path: Path, calls: Iterable[Call]) -> None:
    """Writes the calls."""
    document = {"schema": SCHEMA, "type": "calls", "calls": [encode(Call, call) for call in calls]}
    path.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def read(path: Path) -> list[Call]:
    """The calls that `write` wrote. `RecordError` for another file, and for one whose calls would run what is
    not followed without trust.
    """
    document = load(path)
    if not isinstance(document, dict) or document.get("type") != "calls":
        raise RecordError(f"{path}: it has no recorded calls; `gradfuzz record` writes such files")
    if document.get("schema") not in (1, SCHEMA):
        known = f"this gradfuzz reads 1 to {SCHEMA}"
        raise RecordError(f"{path}: its form has the number {document.get('schema')!r}, and {known}")
    calls = [decode(Call, call, f"{path}, call {k}") for k, call in enumerate(document["calls"])]
    for k, call in enumerate(calls):
        try:
            check_trust(call)
        except UsageError as error:
            raise RecordError(f"{path}, call {k}, of {call.function}: {error}") from error
    return calls


def classes_in(call: Call) -> Iterator[str]:
    """The names of the classes of which the arguments of a call hold objects."""
    return (one.made.removesuffix("()") for one in call.parts() if one.made is not None and "." in one.made)


def by_function(calls: Iterable[Call]) -> dict[str, tuple[Call, ...]]:
    """The calls by the name of their function; by that of a public class those that hold an object of it,
    where no method of it is called.
    """
    found: dict[str, list[Call]] = {}
    holding: dict[str, dict[Call, None]] = {}
    for call in calls:
        found.setdefault(call.function, []).append(call)
        for name in classes_in(call):
            holding.setdefault(name, {})[call] = None
    owners = {name.rpartition(".")[0] for name in found}
    of_classes = {name: list(of) for name, of in holding.items() if name not in owners and "._" not in name}
    return {name: tuple(members) for name, members in (*of_classes.items(), *found.items())}


def with_recorded(
    target: str, functions: list[Function], recorded: Mapping[str, tuple[Call, ...]]
) -> list[Function]:
    """The functions of a package, and those of its classes' methods of which there are recorded calls. What
    was left out and is called, or is a class of which a call holds an object, has a row as the others; a
    class without methods is a record, which computes nothing.
    """
    own = {name: calls for name, calls in recorded.items() if name.startswith(f"{target}.")}
    owners = {name.rpartition(".")[0] for row in functions for name in row.names}
    rows = []
    for row in functions:
        calls = next((own.pop(name) for name in row.names if name in own), ())
        is_record = row.why.startswith("a class") and owners.isdisjoint(row.names)
        is_asked = row.outcome != DIFFERENTIABLE and calls and not is_record
        rows.append(replace(row, outcome=DIFFERENTIABLE, why=calls[0].library) if is_asked else row)
    last = {name: name.removeprefix(f"{target}.") for name in own}
    added = [Function((n,), f"{last[n]}(...)", DIFFERENTIABLE, own[n][0].library) for n in own]
    return [*rows, *added]

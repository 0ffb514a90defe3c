"""Unites the parts of a sweep: what the whole sweep would have found, from the work that its parts did.

The whole sweep runs again with the parts' work as its memo, so it ends as one that nobody divided. Every part
shrinks the first disagreement of each kind. Which others are worth it depends on the findings of all parts,
so these are asked about now: the targets have to be here, unless nothing is left to ask.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gradfuzz.errors import RecordError, UsageError
from gradfuzz.fuzzer.results.codec import Json, decode
from gradfuzz.fuzzer.results.events import Shard
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.records import loads, read_text
from gradfuzz.fuzzer.store.runs import Run, Store
from gradfuzz.fuzzer.store.stream import is_stream
from gradfuzz.fuzzer.store.stream import read as read_stream
from gradfuzz.fuzzer.sweep.config import SweepConfig, config_of, differences, whole
from gradfuzz.fuzzer.sweep.memo import Memo, Result, Work, key, unpack


class SweepPart(NamedTuple):
    """A part of a sweep, and where it was read."""

    source: str
    shard: Shard


class Parts:
    """The parts of one sweep, as a memo."""

    def __init__(self, parts: Sequence[SweepPart]) -> None:
        """`UsageError` where a part is missing or there twice, or where they are parts of several sweeps."""
        self.config = _checked(parts)
        self._rest: Memo | None = None
        self._work = {name: packed for part in parts for name, packed in part.shard.work.items()}

    def recall(self, work: Work) -> Result | None:
        """The result of the work, if a part did it."""
        packed = self._work.get(key(work))
        if packed is not None:
            return unpack(work, base64.b64decode(packed))
        return None if self._rest is None else self._rest.recall(work)

    def keep(self, work: Work, result: Result) -> None:
        """Hands on what no part did."""
        if self._rest is not None and key(work) not in self._work:
            self._rest.keep(work, result)

    def functions(self, target: str, version: str) -> Iterable[Sequence[FunctionSummary]]:
        """Nothing: the parts were made in the order of the seed."""
        return ()

    def before(self, rest: Memo | None) -> Parts:
        """This memo; what it does not have comes from `rest`, and what is new goes there."""
        self._rest = rest
        return self


def parts_in(path: Path) -> list[SweepPart]:
    """The parts in a store, an event stream, or a JSON report. `RecordError` where there is none.

    Of a store these are the latest runs of each part of the sweep of which its latest run with a part is one.
    """
    if path.is_dir() or not is_stream(path):
        with Store(path) as store:
            return _of_store(store)
    text = read_text(path)
    if path.suffix == ".json":
        document = loads(text, str(path))
        shard = document.get("shard") if isinstance(document, dict) else None
        if shard is None:
            raise RecordError(f"{path}: {_NO_PART}")
        if not document.get("complete"):
            raise RecordError(f"{path}: {_CUT_SHORT}")
        return [SweepPart(str(path), decode(Shard, shard, "shard"))]
    finished, _ = read_stream(path)
    if finished.shard is None:
        raise RecordError(f"{path}: {_NO_PART if finished.complete else _CUT_SHORT}")
    if not finished.complete:
        raise RecordError(f"{path}: {_CUT_SHORT}")
    return [SweepPart(str(path), finished.shard)]


_NO_PART = "this is no part of a sweep; `gradfuzz sweep ... --shard 1/4` makes the first of four"
_CUT_SHORT = "this sweep is not complete; the same command with --resume continues it"


def _of_store(store: Store) -> list[SweepPart]:
    runs = [run for run in reversed(store.runs()) if _part_of(run) is not None]
    if not runs:
        raise RecordError(f"{store.path}: {_NO_PART}")
    sweep = whole(runs[0].settings)
    found: dict[int, SweepPart] = {}
    for run in runs:
        part = _part_of(run)
        if part is None or part[0] in found or whole(run.settings) != sweep:
            continue
        source = f"{store.path}, run {run.number}"
        if not run.complete:
            raise RecordError(f"{source}: {_CUT_SHORT}")
        work = {name: base64.b64encode(data).decode() for name, data in store.finished_work(run.number)}
        found[part[0]] = SweepPart(source, Shard(*part, json.dumps(run.settings), work))
    return list(found.values())


def _part_of(run: Run) -> tuple[int, int] | None:
    part = run.settings["config"].get("shard")
    return None if part is None else (part[0], part[1])


def _checked(parts: Sequence[SweepPart]) -> SweepConfig:
    """The configuration of the whole sweep."""
    if not parts:
        raise UsageError("there is nothing to merge; name the stores or streams of the parts of a sweep")
    first = parts[0]
    settings = _settings(first)
    seen: dict[int, str] = {}
    for source, shard in parts:
        other = _settings(SweepPart(source, shard))
        if shard.parts != first.shard.parts:
            words = f"is one of {shard.parts} parts, and {first.source} one of {first.shard.parts}"
            raise UsageError(f"{source} {words}; merge the parts of one sweep")
        if different := differences(settings, other):
            words = f"differs from {first.source}: {'; '.join(different)}"
            raise UsageError(f"{source} {words}; merge the parts of one sweep")
        if shard.part in seen:
            words = f"part {shard.part} of {shard.parts} is there twice, in {seen[shard.part]} and {source}"
            raise UsageError(f"{words}; leave out one of them")
        seen[shard.part] = source
    missing = [str(part) for part in range(1, first.shard.parts + 1) if part not in seen]
    if missing:
        words = f"part{'s' if len(missing) > 1 else ''} {', '.join(missing)} of {first.shard.parts}"
        raise UsageError(f"{words} of the sweep is missing; name its store or stream, too")
    return config_of(settings)


def _settings(part: SweepPart) -> Mapping[str, Json]:
    """The settings of the whole sweep."""
    return whole(loads(part.shard.settings, part.source))

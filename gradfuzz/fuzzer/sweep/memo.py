"""The finished work of a sweep, by its content, so that a killed sweep continues where it was.

The sweep asks its memo before it hands out a piece of work, and gives it the result. A piece of work is known
by its content, so a batch or a proof is reused only where everything it depends on is the same. The results
of the sweep are the same with and without a memo.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gradfuzz.fuzzer.findings.prove import FindingProof
from gradfuzz.fuzzer.results.codec import Json, decode, encode
from gradfuzz.fuzzer.results.events import Shard
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import Batch
from gradfuzz.fuzzer.sweep.work_item import WorkItem

Work = Any
"""A dataclass of a type in `KINDS`."""
Result = Any
"""Its result, of the type that stands there."""


class Memo(Protocol):
    """Remembers finished work."""

    def recall(self, work: Work) -> Result | None:
        """The result of the work, or None where it is not done."""
        ...

    def keep(self, work: Work, result: Result) -> None:
        """Remembers a result; does nothing where it is known."""
        ...

    def functions(self, target: str, version: str) -> Iterable[Sequence[FunctionSummary]]:
        """What each earlier sweep of the functions of this release asked, the latest first."""
        ...


@dataclass(frozen=True, slots=True)
class Shrink:
    """The proof of a disagreement as work."""

    raw: Raw
    triggers: tuple[str, ...] = ()
    """What known findings need, in words and in order, where the disagreement may be explained by them."""
    shrink: bool = True
    """Whether the program is made smaller."""


class WorkKind(NamedTuple):
    """A kind of work: how its keys begin in every store, and the type of its results."""

    name: str
    result: type[Any]


KINDS: dict[type[Any], WorkKind] = {WorkItem: WorkKind("order", Batch), Shrink: WorkKind("raw", FindingProof)}
"""The kinds of work, by type. A package that does work of its own adds a row."""


def key(work: Work) -> str:
    """Equal for equal work."""
    text = json.dumps(encode(type(work), work), allow_nan=False)
    return f"{KINDS[type(work)].name}:{hashlib.sha256(text.encode()).hexdigest()}"


class Ledger:
    """The work of one sweep: kept in a memo, if there is one, and of a part of a sweep collected, too."""

    def __init__(self, memo: Memo | None, part: tuple[int, int] | None) -> None:
        self._memo = memo
        self._part = part
        self._work: dict[str, str] = {}

    def recall(self, work: Work) -> Result | None:
        """The result of the work, if the memo has it."""
        return None if self._memo is None else self._memo.recall(work)

    def keep(self, work: Work, result: Result) -> None:
        """Enters a result."""
        if self._memo is not None:
            self._memo.keep(work, result)
        if self._part is not None:
            self._work[key(work)] = base64.b64encode(pack(result)).decode()

    def functions(self, target: str, version: str) -> Iterable[Sequence[FunctionSummary]]:
        """What earlier sweeps asked. A part of a sweep knows of none: the other parts have other memos."""
        return () if self._memo is None or self._part is not None else self._memo.functions(target, version)

    def shard(self, settings: Mapping[str, Json]) -> Shard | None:
        """The part with its work; None where the sweep is whole."""
        return None if self._part is None else Shard(*self._part, json.dumps(settings), dict(self._work))


def pack(result: Result) -> bytes:
    """The result as compressed bytes."""
    return zlib.compress(json.dumps(encode(type(result), result), allow_nan=False).encode())


def unpack(work: Work, data: bytes) -> Result:
    """The result of this work from the bytes of `pack`."""
    return decode(KINDS[type(work)].result, json.loads(zlib.decompress(data)))

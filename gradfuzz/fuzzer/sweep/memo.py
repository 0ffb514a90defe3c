"""What a sweep has done already, by what was to be done: so that one that was killed goes on where it was.

The sweep asks its memo before it gives work out, and tells it what came of it. A piece of work is known by
its content, so a batch or a proof is taken again only where everything that it depends on is the same; the
totals and the shrink queues see no difference.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Protocol

from gradfuzz.fuzzer.findings.prove import Proof
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import Batch, WorkItem

Work = WorkItem | Raw
Result = Batch | Proof


class Memo(Protocol):
    """Remembers finished work."""

    def recall(self, work: Work) -> Result | None:
        """What came of it, or None where it has yet to be done."""
        ...

    def keep(self, work: Work, result: Result) -> None:
        """Remember what came of it; nothing where it is known."""
        ...


class Forgetful:
    """Remembers nothing."""

    def recall(self, work: Work) -> Result | None:
        return None

    def keep(self, work: Work, result: Result) -> None:
        """Nothing is kept."""


_KINDS = {WorkItem: "order", Raw: "raw"}
"""How the keys of a kind of work begin in every store."""


def key(work: Work) -> str:
    """Equal for equal work."""
    text = json.dumps(encode(type(work), work), allow_nan=False)
    return f"{_KINDS[type(work)]}:{hashlib.sha256(text.encode()).hexdigest()}"


def pack(result: Result) -> bytes:
    """As few bytes as may be."""
    return zlib.compress(json.dumps(encode(type(result), result), allow_nan=False).encode())


def unpack(work: Work, data: bytes) -> Result:
    """The result of this work that `pack` made smaller."""
    plain = json.loads(zlib.decompress(data))
    return decode(Batch, plain) if isinstance(work, WorkItem) else decode(Proof, plain)

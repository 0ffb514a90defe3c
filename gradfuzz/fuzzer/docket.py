"""Which disagreements are worth shrinking: a queue for each library, taken one by one, in the order in which they were met.

Shrinking costs more than everything else, and most disagreements of a library are the same bug again. So those of one way into the
library, one check and one class are shrunk until two in a row have brought nothing new; the others are counted. What a finding already shows
elsewhere counts there as one that brought nothing new: the classes it has at other points, the other ways that are wrong about it, too.
One by one, because each result decides about the next; this also makes what is found independent of who is faster.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from gradfuzz.fuzzer.batch import Raw
from gradfuzz.fuzzer.finding import Class
from gradfuzz.fuzzer.prove import Proof, library

__all__ = ["Docket"]

_REPEATS = 2
"""So many in a row that bring nothing new close a bucket."""

_AT_MOST = 24
"""Disagreements that are shrunk for one library ..."""

_OF_MUTANTS = 4
"""... and for a mutant, which has one bug by construction."""

_DROPPED = 4
"""Disagreements of one bucket that turn out to be none, until the rest of it is only counted."""

Bucket = tuple[str, str, Class]
"""Way, kind of check, class."""


class Docket:
    """The queues of one sweep."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Raw]] = {}
        self._repeats: Counter[Bucket] = Counter()
        self._dropped: Counter[Bucket] = Counter()
        self._taken: Counter[str] = Counter()
        self._waiting: set[str] = set()
        self.skipped: list[Raw] = []
        """Those that are only counted; the list is the reader's to empty."""

    def add(self, raw: Raw) -> None:
        """One more disagreement."""
        self._queues.setdefault(library(raw.case.oracle), deque()).append(raw)

    def ready(self) -> Iterator[Raw]:
        """The next disagreement of every library that has one to shrink and is not waiting for the last one's proof."""
        for base in [b for b in self._queues if b not in self._waiting]:
            raw = self._next(base)
            if raw is not None:
                self._waiting.add(base)
                self._taken[base] += 1
                yield raw

    def _next(self, base: str) -> Raw | None:
        queue = self._queues[base]
        most = _OF_MUTANTS if base.startswith("mutant:") else _AT_MOST
        while queue and self._taken[base] < most:
            raw = queue[0]
            bucket = _bucket(raw)
            if self._repeats[bucket] >= _REPEATS or self._dropped[bucket] >= _DROPPED:
                self.skipped.append(queue.popleft())
                continue
            return queue.popleft()
        self.skipped += queue
        queue.clear()
        return None

    def close(self) -> None:
        """No more shrinking: what is still waiting is only counted."""
        for queue in self._queues.values():
            self.skipped += queue
            queue.clear()

    def settled(self, raw: Raw, proof: Proof, *, new: bool) -> None:
        """What came of the last one of its library; `new` says that it is a finding that was not there before."""
        self._waiting.discard(library(raw.case.oracle))
        bucket = _bucket(raw)
        if proof.finding is None:
            self._dropped[bucket] += 1
            return
        if not new:
            self._repeats[bucket] += 1
            return
        self._repeats[bucket] = 0
        _, check, own = bucket
        for way in proof.wrong_ways:
            for kind in proof.kinds:
                if (way, kind) != (raw.case.oracle, own):
                    self._repeats[way, check, kind] += 1


def _bucket(raw: Raw) -> Bucket:
    kind, modes = raw.case.kind, raw.case.question.modes
    assert kind is not None, "a disagreement has a class"
    check = modes[0] if len(modes) == 1 else "value" if not modes else "higher order"
    return raw.case.oracle, check, kind

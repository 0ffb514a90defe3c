"""Which disagreements are worth shrinking: queues, taken one by one, in the order in which they were met.

Shrinking costs more than everything else, and most disagreements of a library are the same bug again. So
those of one way into the library, one check and one class are shrunk until a few in a row have brought
nothing new; the others are counted. What a finding already shows elsewhere counts there as one that brought
nothing new: the classes it has at other points, the other ways that are wrong about it.

A library has two queues, one for its ways that answer at once and one for those that take seconds. In a queue
each result decides about the next, and nothing that happens outside: so what is found does not depend on who
is faster.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator

from gradfuzz.fuzzer.findings.prove import Proof
from gradfuzz.fuzzer.findings.signature import Precedence, precedence, skeleton
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.oracles.target_name import TargetName

_REPEATS, _SLOW_REPEATS = 2, 1
"""So many in a row that bring nothing new close a bucket."""

_AT_MOST, _SLOW_AT_MOST = 24, 3
"""Disagreements that are shrunk for one queue ..."""

_OF_MUTANTS = 4
"""... and for a mutant, which has one bug by construction."""

_DROPPED = 4
"""Disagreements of one bucket that turn out to be none, until the rest of it is only counted."""

Queue = tuple[str, bool]
"""Library, with the release where its name says which, and whether it is the slow ones'."""

Bucket = tuple[str, str, Class]
"""Way, kind of check, class."""


class ShrinkQueues:
    """The queues of one sweep. `slow` names the oracles whose answers take long."""

    def __init__(self, slow: Collection[str] = ()) -> None:
        self._slow = slow
        self._queues: dict[Queue, deque[Raw]] = {}
        self._repeats: Counter[Bucket] = Counter()
        self._dropped: Counter[Bucket] = Counter()
        self._taken: Counter[Queue] = Counter()
        self._known: dict[Queue, dict[str, Precedence]] = {}
        self._waiting: set[Queue] = set()
        self.skipped: list[Raw] = []
        """Those that are only counted; the list is the reader's to empty."""

    def queue(self, oracle_name: str) -> Queue:
        """Where the disagreements of an oracle stand."""
        name = TargetName.of(oracle_name)
        return name.base if name.specifier else name.owner, oracle_name in self._slow

    def known(self, queue: Queue) -> dict[str, Precedence]:
        """What the queue has brought: the skeletons of the findings' programs, and the precedence of the
        first of each.
        """
        return dict(self._known.get(queue, {}))

    def add(self, raw: Raw) -> None:
        """One more disagreement."""
        self._queues.setdefault(self.queue(raw.case.oracle), deque()).append(raw)

    def ready(self) -> Iterator[tuple[Queue, Raw]]:
        """The next disagreement of every queue that is not waiting for the last one's proof."""
        for queue in [q for q in self._queues if q not in self._waiting]:
            raw = self._next(queue)
            if raw is not None:
                self._waiting.add(queue)
                self._taken[queue] += 1
                yield queue, raw

    def _next(self, queue: Queue) -> Raw | None:
        waiting = self._queues[queue]
        base, slow = queue
        most = _OF_MUTANTS if TargetName.of(base).library == "mutant" else _SLOW_AT_MOST if slow else _AT_MOST
        repeats = _SLOW_REPEATS if slow else _REPEATS
        while waiting and self._taken[queue] < most:
            raw = waiting.popleft()
            bucket = _bucket(raw)
            if self._repeats[bucket] < repeats and self._dropped[bucket] < _DROPPED:
                return raw
            self.skipped.append(raw)
        self.skipped += waiting
        waiting.clear()
        return None

    def close(self) -> None:
        """No more shrinking: what is still waiting is only counted."""
        for waiting in self._queues.values():
            self.skipped += waiting
            waiting.clear()

    def settled(self, raw: Raw, proof: Proof) -> None:
        """What came of the last one of a queue."""
        queue, bucket = self.queue(raw.case.oracle), _bucket(raw)
        self._waiting.discard(queue)
        if proof.finding is None:
            self._dropped[bucket] += 1
            return
        known, bones = self._known.setdefault(queue, {}), skeleton(proof.finding.program)
        place = precedence(proof.finding, raw.index)
        repeated = bones in known
        known[bones] = min(place, known.get(bones, place))
        if repeated:
            self._repeats[bucket] += 1
            return
        self._repeats[bucket] = 0
        _, check, own = bucket
        for way in proof.wrong_ways:
            for kind in proof.kinds:
                if self.queue(way) == queue and (way, kind) != (raw.case.oracle, own):
                    self._repeats[way, check, kind] += 1


def _bucket(raw: Raw) -> Bucket:
    kind, modes = raw.case.kind, raw.case.question.modes
    assert kind is not None, "a disagreement has a class"
    check = modes[0] if len(modes) == 1 else "value" if not modes else "higher order"
    return raw.case.oracle, check, kind

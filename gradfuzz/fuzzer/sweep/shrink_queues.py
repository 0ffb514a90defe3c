"""Which disagreements are worth shrinking: queues, served one by one in the order of the disagreements.

Shrinking costs more than everything else, and most disagreements of a library are the same bug again. So
disagreements with one entry point, check and class form a bucket. A bucket is shrunk until a few in a row
bring nothing new; the rest is counted. A disagreement that a finding of another bucket already shows, at
other points or by other entry points, counts as bringing nothing new.

A library has two queues, one for its fast entry points and one for its slow ones. Within a queue each result
decides about the next, and nothing outside it does: so the findings do not depend on timing.
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
"""A bucket closes after this many in a row that bring nothing new."""

_AT_MOST, _SLOW_AT_MOST = 24, 3
"""When this many disagreements have been shrunk for one queue, only the first of each bucket follow ..."""

_OF_MUTANTS = 4
"""... after this many none for a mutant, which has one bug by construction ..."""

_FIRSTS = 48
"""... and after this many none at all."""

_DROPPED = 4
"""After this many false alarms in a bucket, its other disagreements are only counted."""

Queue = tuple[str, bool]
"""Library, with the release if its name has one, and whether the queue is for slow entry points."""

Bucket = tuple[str, str, Class]
"""Entry point, kind of check, class."""


class ShrinkQueues:
    """The queues of one sweep. `slow` names the oracles that answer slowly."""

    def __init__(self, slow: Collection[str] = ()) -> None:
        self._slow = slow
        self._queues: dict[Queue, deque[Raw]] = {}
        self._repeats: Counter[Bucket] = Counter()
        self._dropped: Counter[Bucket] = Counter()
        self._taken: Counter[Queue] = Counter()
        self._begun: set[Bucket] = set()
        self._known: dict[Queue, dict[str, Precedence]] = {}
        self._waiting: set[Queue] = set()
        self.skipped: list[Raw] = []
        """Disagreements that are only counted; the reader empties the list."""

    def queue(self, oracle_name: str) -> Queue:
        """The queue of an oracle's disagreements."""
        name = TargetName.of(oracle_name)
        return name.base if name.specifier else name.owner, oracle_name in self._slow

    def known(self, queue: Queue) -> dict[str, Precedence]:
        """The queue's results: the skeletons of its findings' programs with the first one's precedence."""
        return dict(self._known.get(queue, {}))

    def add(self, raw: Raw) -> None:
        """Adds a disagreement."""
        self._queues.setdefault(self.queue(raw.case.oracle), deque()).append(raw)

    def ready(self) -> Iterator[tuple[Queue, Raw]]:
        """The next disagreement of every queue that does not wait for a proof."""
        for queue in [q for q in self._queues if q not in self._waiting]:
            raw = self._next(queue)
            if raw is not None:
                self._waiting.add(queue)
                self._taken[queue] += 1
                yield queue, raw

    def _next(self, queue: Queue) -> Raw | None:
        waiting = self._queues[queue]
        base, slow = queue
        repeats = _SLOW_REPEATS if slow else _REPEATS
        most, last = _SLOW_AT_MOST if slow else _AT_MOST, _FIRSTS
        if TargetName.of(base).library == "mutant":
            most = last = _OF_MUTANTS
        while waiting and self._taken[queue] < last:
            raw = waiting.popleft()
            bucket = bucket_of(raw)
            wanted = self._repeats[bucket] < repeats and self._dropped[bucket] < _DROPPED
            if wanted and (self._taken[queue] < most or bucket not in self._begun):
                self._begun.add(bucket)
                return raw
            self.skipped.append(raw)
        self.skipped += waiting
        waiting.clear()
        return None

    def close(self) -> None:
        """Stops shrinking: what still waits is only counted."""
        for waiting in self._queues.values():
            self.skipped += waiting
            waiting.clear()

    def settled(self, raw: Raw, proof: Proof) -> None:
        """Enters the proof of a queue's last disagreement."""
        queue, bucket = self.queue(raw.case.oracle), bucket_of(raw)
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


def bucket_of(raw: Raw) -> Bucket:
    kind, modes = raw.case.kind, raw.case.question.modes
    assert kind is not None, "a disagreement has a class"
    check = modes[0] if len(modes) == 1 else "value" if not modes else "higher order"
    return raw.case.oracle, check, kind

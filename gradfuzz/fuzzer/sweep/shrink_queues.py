"""Which disagreements are worth shrinking: queues, served one by one in the order of the disagreements.

Shrinking costs more than everything else, and most disagreements of a library are the same bug again. So
disagreements with one entry point, check and class form a bucket; crashes also by what they say. The first of
a bucket is shrunk. Another one is shrunk only if it is another bug: if it stays where what the findings so
far need is taken out of its program. A bucket closes when a few in a row bring nothing new all the same; the
rest is counted. A disagreement that a finding of another bucket already shows, at other points or by other
entry points, counts as bringing nothing new.

A library has two queues, one for its fast entry points and one for its slow ones. Within a queue each result
decides about the next, and nothing outside it does: so the findings do not depend on timing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator

from gradfuzz.fuzzer.findings.prove import FindingProof
from gradfuzz.fuzzer.findings.signature import precedence, skeleton
from gradfuzz.fuzzer.findings.triggers import KnownTrigger
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.results.raw import Raw, said
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.oracles.target_name import TargetName

_REPEATS, _SLOW_REPEATS = 2, 1
"""A bucket closes after this many in a row that bring nothing new."""

_AT_MOST, _SLOW_AT_MOST = 48, 6
"""When this many disagreements have been shrunk for one queue, only the first of each bucket follow ..."""

_OF_MUTANTS = 4
"""... after this many none for a mutant, which has one bug by construction ..."""

_FIRSTS = 64
"""... and after this many none at all."""

_LOOKED, _SLOW_LOOKED = 300, 12
"""At most so many disagreements of a queue are asked about without what known findings need."""

_DROPPED = 4
"""After this many false alarms in a bucket, its other disagreements are only counted."""

Queue = tuple[str, bool]
"""What is asked with all its ways, as in "torch", and whether the queue is for slow entry points."""

Bucket = tuple[str, str, Class, str]
"""Entry point, kind of check, class, what an exception says."""


class ShrinkQueues:
    """The queues of one sweep.

    `slow` names the oracles of which each shrinking takes long. With `only_firsts` nothing but the first of
    a bucket is shrunk: what follows from these is decided where all are known.
    """

    def __init__(self, slow: Collection[str] = (), *, only_firsts: bool = False) -> None:
        self._slow = slow
        self._only_firsts = only_firsts
        self._queues: dict[Queue, deque[Raw]] = {}
        self._repeats: Counter[Bucket] = Counter()
        self._dropped: Counter[Bucket] = Counter()
        self._taken: Counter[Queue] = Counter()
        self._firsts: dict[Bucket, Raw] = {}
        self._looked: dict[Queue, set[tuple[str, str, str, int]]] = {}
        """The programs whose disagreements may have been explained, by entry point, check and family."""
        self._known: dict[Queue, dict[str, KnownTrigger]] = {}
        self._waiting: set[Queue] = set()
        self.skipped: list[Raw] = []
        """Disagreements that are only counted; the reader empties the list."""

    def queue(self, oracle_name: str) -> Queue:
        """The queue of an oracle's disagreements."""
        return TargetName.of(oracle_name).system, oracle_name in self._slow

    def known(self, queue: Queue) -> dict[str, KnownTrigger]:
        """The queue's findings, by the skeletons of their programs."""
        return dict(self._known.get(queue, {}))

    def may_be_explained(self, raw: Raw) -> bool:
        """Whether a disagreement is to be shrunk only if the queue's findings do not explain it."""
        return self._firsts.get(bucket_of(raw)) is not raw and not _is_mutant(self.queue(raw.case.oracle))

    def add(self, raw: Raw) -> None:
        """Adds a disagreement."""
        self._queues.setdefault(self.queue(raw.case.oracle), deque()).append(raw)

    def ready(self) -> Iterator[tuple[Queue, Raw]]:
        """The next disagreement of every queue that does not wait for a proof."""
        for queue in [q for q in self._queues if q not in self._waiting]:
            raw = self._next(queue)
            if raw is not None:
                self._waiting.add(queue)
                yield queue, raw

    def _next(self, queue: Queue) -> Raw | None:
        waiting = self._queues[queue]
        while waiting and self._taken[queue] < (_OF_MUTANTS if _is_mutant(queue) else _FIRSTS):
            raw = waiting.popleft()
            if self._is_wanted(raw, queue):
                return raw
            self.skipped.append(raw)
        self.skipped += waiting
        waiting.clear()
        return None

    def _is_wanted(self, raw: Raw, queue: Queue) -> bool:
        bucket, (_, slow) = bucket_of(raw), queue
        repeats = _SLOW_REPEATS if slow else _REPEATS
        if self._repeats[bucket] >= repeats or self._dropped[bucket] >= _DROPPED:
            return False
        if bucket not in self._firsts:
            self._firsts[bucket] = raw
            return True
        if self._only_firsts:
            return False
        if _is_mutant(queue):
            return True
        looked = self._looked.setdefault(queue, set())
        program = raw.case.oracle, bucket[1], raw.family, raw.index
        if self._taken[queue] >= (_SLOW_AT_MOST if slow else _AT_MOST) or program in looked:
            return False
        looked.add(program)
        return len(looked) <= (_SLOW_LOOKED if slow else _LOOKED)

    def close(self) -> None:
        """Stops shrinking: what still waits is only counted."""
        for waiting in self._queues.values():
            self.skipped += waiting
            waiting.clear()

    def settled(self, raw: Raw, proof: FindingProof) -> None:
        """Enters the proof of a queue's last disagreement."""
        queue, bucket = self.queue(raw.case.oracle), bucket_of(raw)
        self._waiting.discard(queue)
        if proof.explained:
            return
        self._taken[queue] += 1
        if proof.finding is None:
            self._dropped[bucket] += 1
            return
        known, program = self._known.setdefault(queue, {}), proof.finding.program
        bones, place = skeleton(program), precedence(proof.finding, raw.index)
        repeated = bones in known
        first = min(place, known[bones].precedence) if repeated else place
        known[bones] = KnownTrigger(first, Trigger.of_finding(proof.finding), proof.finding.id)
        if repeated:
            self._repeats[bucket] += 1
            if queue[1]:  # the same class in the other ways that are wrong about it is not shrunk again
                for way in proof.wrong_ways:
                    if way != raw.case.oracle:
                        self._repeats[way, *bucket[1:]] += 1
            return
        self._repeats[bucket] = 0
        _, check, own, words = bucket
        for way in proof.wrong_ways:
            for kind in proof.kinds:
                if self.queue(way) == queue and (way, kind) != (raw.case.oracle, own):
                    self._repeats[way, check, kind, words if kind is Class.ERROR else ""] += 1


def bucket_of(raw: Raw) -> Bucket:
    kind, modes = raw.case.kind, raw.case.question.modes
    assert kind is not None, "a disagreement has a class"
    check = modes[0] if len(modes) == 1 else "value" if not modes else "higher order"
    return raw.case.oracle, check, kind, said(raw.case.message) if kind is Class.ERROR else ""


def _is_mutant(queue: Queue) -> bool:
    return TargetName.of(queue[0]).library == "mutant"

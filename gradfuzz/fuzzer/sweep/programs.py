"""The plan of a sweep of programs: batches of programs, and proofs of what disagrees.

Programs are drawn in batches, each seeded by the sweep's seed and its number. Any free worker judges a whole
batch. Batches are added up in their order, so the findings do not depend on timing.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from gradfuzz.errors import UsageError, WorkerDiedError
from gradfuzz.fuzzer.findings.clusters import clusters
from gradfuzz.fuzzer.findings.prove import FindingProof, confirmed, prove, unasked
from gradfuzz.fuzzer.findings.script_run import has_check, unchecked
from gradfuzz.fuzzer.findings.signature import precedence, skeleton
from gradfuzz.fuzzer.findings.triggers import KnownTrigger
from gradfuzz.fuzzer.results.events import Event, FindingFound, TargetSummary
from gradfuzz.fuzzer.results.failure import failure_of
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import Batch
from gradfuzz.fuzzer.sweep.cases import drawn
from gradfuzz.fuzzer.sweep.config import CHEAP, SweepConfig, check
from gradfuzz.fuzzer.sweep.memo import Ledger, Shrink
from gradfuzz.fuzzer.sweep.run import Crew, PlanOutcome, Sweep
from gradfuzz.fuzzer.sweep.set_up import WaySetUp
from gradfuzz.fuzzer.sweep.shrink_queues import Bucket, Queue, ShrinkQueues, bucket_of
from gradfuzz.fuzzer.sweep.slot import Slot
from gradfuzz.fuzzer.sweep.totals import Totals
from gradfuzz.fuzzer.sweep.ways import Listing, Way, Ways, listed
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.fuzzer.workers.local import Here, Pool, usual_size
from gradfuzz.fuzzer.workers.worker import Workers, kept
from gradfuzz.oracles.base import check_name
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.program import to_text
from gradfuzz.strategies import FAMILIES

_BATCH = 16
"""Programs in a batch: enough for oracles that answer many at once, few enough for steady progress."""

_BATCH_OF_SLOW = 4
"""The same where a slow way is asked about every program."""

_BATCH_OF_COMPILED = 32
"""The same where programs are compiled together, at the price of a few."""

_FIRST = 4
"""Programs in the first batch, which waits for the libraries to load. The second has the rest of `_BATCH`."""

_ROUNDS = 3
"""So often workers may die of a proof, each time several, until it is left as it was met."""


def planned(whole: Sweep, config: SweepConfig) -> Programs:
    """The plan of a sweep, about programs, with these settings."""
    check(config)
    workers = workers_of(config)
    try:
        listings = _listed(config, workers, whole.ledger)
    except BaseException:
        workers.close(at_once=True)
        raise
    return Programs(whole, config, workers, listings)


def workers_of(config: SweepConfig) -> Workers:
    """The workers that the settings ask for."""
    libraries = {TargetName.of(name).library for name in config.targets}
    if config.cluster:
        return cluster_of(config)
    if config.jobs in (None, 1) and libraries <= set(CHEAP):
        return Here()
    return Pool(config.jobs or usual_size())


def cluster_of(config: SweepConfig) -> Workers:
    """The workers of the cluster that the settings name."""
    from gradfuzz.fuzzer.workers.cluster import DaskCluster

    return DaskCluster(config.cluster, {TargetName.of(name).system for name in config.targets})


def _listed(config: SweepConfig, workers: Workers, ledger: Ledger) -> list[tuple[Listing, Ways]]:
    """The ways of all targets. A worker lists them, and has their processes for its first batch. Where
    machines serve different systems, each is listed on its own.
    """
    groups = [config.targets]
    if workers.offered:
        if not config.apart:
            raise UsageError(
                f"only some workers serve {', '.join(sorted(workers.offered))}; with --apart each system gets"
                " programs of its own, which do not depend on the others"
            )
        groups = [(name,) for name in config.targets]
    together = any(FAMILIES[family].together for family in config.families)
    asked = config.families, config.precisions, config.orders, together
    found: list[tuple[Listing, Future[Ways]]] = []
    for targets in groups:
        work = Listing(targets, *asked)
        known = ledger.recall(work)
        needs = {TargetName.of(name).system for name in targets}
        found.append((work, kept(known) if known else workers.submit(listed, work, needs=needs)))
    return [(work, future.result()) for work, future in found]


class Programs:
    """The plan: see `fuzzer.sweep.run.SweepPlan`."""

    def __init__(
        self, whole: Sweep, config: SweepConfig, workers: Workers, listings: list[tuple[Listing, Ways]]
    ) -> None:
        self._sweep = whole
        self._config = config
        self._ledger = whole.ledger
        self._listings = listings
        self.crew = Crew(workers, whole.woken)
        ways = list({way.name: way for _, found in listings for way in found.ways}.values())
        self._ways = ways
        self.targets = tuple((way.name, way.version) for way in ways)
        self._totals = Totals(self.targets, config.families)
        slow = {way.name for way in ways if way.slow}
        compiled = {way.name for way in ways if way.compiles}
        together = _BATCH_OF_COMPILED if len(compiled) == len(ways) else _BATCH
        self._batch = _BATCH_OF_SLOW if slow.intersection(config.targets) else together
        self._set_up = WaySetUp()
        self._shrink_queues = ShrinkQueues(slow | compiled, only_firsts=config.shard is not None)
        self._met: set[Bucket] = set()
        self._batches: deque[Slot] = deque()
        self._deaths: Counter[Queue] = Counter()
        """How often the workers of a queue's proof died."""
        self._proofs: dict[Queue, tuple[Raw, Shrink, Future[FindingProof]]] = {}
        self._whole: dict[Queue, FindingProof] = {}
        """The proofs among these whose finding is whole, while its script runs."""

    # Work

    def _items(self) -> Iterator[WorkItem]:
        """Batches of all families by turns, so that a time limit leaves none out."""
        groups = [
            self._batches_of(family, names, fits)
            for family in self._config.families
            for names, fits in self._groups(family)
        ]
        rounds = itertools.zip_longest(*groups)
        items = (item for together in rounds for item in together if item is not None)
        part, parts = self._config.shard or (1, 1)
        return itertools.islice(items, part - 1, None, parts)

    def _groups(self, family: str) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The ways that are asked about the same programs, and whether these are drawn for them.

        A system of which each way refuses most of a family has programs of its own.
        """
        systems: dict[str, list[Way]] = {}
        for way in self._ways:
            systems.setdefault(TargetName.of(way.name).owner, []).append(way)
        narrow = [ways for ways in systems.values() if all(family in way.narrow for way in ways)]
        alone = {way.name for ways in narrow for way in ways}
        rest = [way for way in self._ways if way.name not in alone]
        together = [ways for ways in systems.values() if ways not in narrow] if self._config.apart else [rest]
        for ways in filter(None, together):
            yield tuple(way.name for way in ways), False
        for ways in narrow:
            yield tuple(way.name for way in ways), True

    def _batches_of(self, family: str, names: tuple[str, ...], fits: bool) -> Iterator[WorkItem]:
        config = self._config
        named = tuple(name for name in names if name in config.targets)
        first = 0
        for number in itertools.count():
            second = self._batch - _FIRST or self._batch
            size = (_FIRST, second, self._batch)[min(number, 2)]
            count = min(size, config.max_examples - first)
            if count <= 0:
                return
            yield WorkItem(
                number,
                first,
                count,
                family,
                config.seed,
                names,
                config.precisions,
                config.orders,
                config.checks,
                named,
                fits,
            )
            first += count

    def work(self) -> Iterator[Event | None]:
        """Keeps every worker busy, with proofs before batches and one proof per shrink queue; takes results
        in order.
        """
        for work, ways in self._listings:
            self._ledger.keep(work, ways)
        items = self._items()
        batches, proofs, queues, crew = self._batches, self._proofs, self._shrink_queues, self.crew
        exhausted = False
        # Drawn here too, so that there is a program to show while the workers start.
        if (first := next(self._items(), None)) is not None:
            self._sweep.latest = to_text(drawn(replace(first, fits=False))[-1].program)
        many = crew.load.workers
        yield self._sweep.progress("drawing programs" if many == 1 else f"starting {many} worker processes")
        while True:
            if self._sweep.late():
                queues.close()
            for _, raw in queues.ready():
                self._prove(raw)
            self._totals.count(queues.skipped)
            queues.skipped.clear()
            room = crew.workers.room
            while not exhausted and crew.under_way < room and len(batches) < 2 * room:
                item = None if self._sweep.late() else next(items, None)
                exhausted = item is None
                if item is not None:
                    batches.append(Slot(item, self._give_batch))
            if not batches and not proofs:
                if not (few := self._set_up.too_few()):
                    return
                for raw in few:
                    queues.add(raw)
                continue
            before = len(batches), list(proofs.values())
            yield from self._taken()
            if before == (len(batches), list(proofs.values())):
                yield None

    def _give_batch(self, do: Callable[[WorkItem], Batch], item: WorkItem) -> Future[Any]:
        """The future of a batch or of a part of one, done at once where the memo has it."""
        known = self._ledger.recall(item)
        if known is not None:
            return kept(known)
        doing = f"judging programs {item.first + 1}-{item.first + item.count} of {item.family}"
        return self.crew.give(doing, do, item, needs={TargetName.of(name).system for name in item.oracles})

    def _prove(self, raw: Raw) -> None:
        """Hands out the proof of a disagreement that is its queue's turn."""
        queues, of = self._shrink_queues, self._shrink_queues.queue(raw.case.oracle)
        known, explain = queues.known(of), queues.may_be_explained(raw)
        work = Shrink(
            raw, tuple(sorted(one.words for one in known.values())) if explain else (), self._config.shrink
        )
        self._proofs[of] = raw, work, self._proof(work, known, explain)

    def _proof(self, work: Shrink, known: Mapping[str, KnownTrigger], explain: bool) -> Future[Any]:
        raw = work.raw
        if raw.deadly:
            return kept(unasked(raw, self._version(raw)))
        found = self._ledger.recall(work)
        if found is not None and not _lacks_evidence(found, raw, known):
            return kept(found)
        needs = {TargetName.of(raw.case.oracle).system}
        given = raw, known, explain, self._config.shrink
        return self.crew.give(_proving(raw), prove, *given, needs=needs, soon=True)

    def _version(self, raw: Raw) -> str:
        return dict(self.targets)[raw.case.oracle]

    def _taken(self) -> Iterator[Event]:
        """Takes what is ready: the first batches, and any proof."""
        while self._batches and (batch := self._batches[0].result()) is not None:
            item = self._batches.popleft().item
            if isinstance(batch, OwnFault):
                self._sweep.lose(batch)
                yield self._sweep.progress(f"gradfuzz itself failed {batch.doing}")
                continue
            self._ledger.keep(item, batch)
            self._sweep.latest = batch.latest
            self._totals.add(batch, item.family)
            raws = self._set_up.ready(batch.counts, batch.raws)
            for raw in raws:
                self._shrink_queues.add(raw)
            first = item.first + 1
            yield self._sweep.progress(f"judged programs {first}-{first + batch.programs - 1}")
            for raw in raws:
                if (bucket := bucket_of(raw)) not in self._met:
                    self._met.add(bucket)
                    yield self._sweep.progress(f"shrinking it, program {raw.index + 1}", met=_in_words(raw))
        for of in [of for of, (*_, future) in self._proofs.items() if future.done()]:
            raw, work, future = self._proofs[of]
            if isinstance(future.exception(), WorkerDiedError):
                self._deaths[of] += 1
                if self._deaths[of] < _ROUNDS:
                    self._prove(raw)
                    continue
                future = kept(unasked(raw, self._version(raw)))
            proof = future.result()
            if self._is_to_be_confirmed(raw, proof):
                self._whole[of] = proof
                self._proofs[of] = raw, work, self._confirmation(raw, proof)
                continue
            yield from self._entered(of, proof)

    def _is_to_be_confirmed(self, raw: Raw, proof: FindingProof | OwnFault) -> bool:
        """Whether the script of a finding is still to be run, and tells something."""
        if isinstance(proof, OwnFault) or proof.finding is None or proof.confirmed:
            return False
        return has_check(proof.finding) and self._totals.leads(proof.finding, raw.index)

    def _confirmation(self, raw: Raw, proof: FindingProof) -> Future[Any]:
        needs = {TargetName.of(raw.case.oracle).system}
        return self.crew.give(f"{_proving(raw)}, by its script", confirmed, proof, needs=needs, soon=True)

    def _entered(self, of: Queue, proof: FindingProof | OwnFault) -> Iterator[Event]:
        """Enters the proof of a queue's disagreement, and tells its finding."""
        raw, work, _ = self._proofs.pop(of)
        self._whole.pop(of, None)
        self._deaths.pop(of, None)
        finding = self._sweep.tried(_proving(raw), None, self._settled, raw, work, proof)
        if finding is not None:
            self._sweep.found()
            yield FindingFound(finding)

    def left(self) -> Iterator[Event]:
        """At the end of a sweep that ended early: the findings that are whole, also those whose script
        still runs. Other disagreements are only counted.
        """
        for of, (raw, _, future) in list(self._proofs.items()):
            done = future.done() and not future.cancelled() and future.exception() is None
            proof = future.result() if done else self._whole.get(of)
            if proof is None:
                self._totals.count([raw])
            else:
                yield from self._entered(of, proof)

    def _settled(self, raw: Raw, work: Shrink, proof: FindingProof | OwnFault) -> Finding | None:
        """Enters a proof; the finding as it stands now."""
        if isinstance(proof, OwnFault):  # not even a finding as it was met came of it
            self._sweep.tried.keep(proof)
            self._totals.count([raw])
            self._shrink_queues.settled(raw, FindingProof(None))
            return None
        for fault in proof.own_faults:
            self._sweep.tried.keep(fault)
        told = proof
        if proof.finding is not None and self._is_to_be_confirmed(raw, proof):  # the sweep ends early
            told = replace(proof, finding=unchecked(proof.finding))
        finding = self._totals.settle(raw, told)
        self._shrink_queues.settled(raw, proof)
        self._ledger.keep(work, proof)
        return finding

    def doing(self) -> str:
        parts = [f"judging programs from {slot.item.first + 1} on" for slot in list(self._batches)[:1]]
        proofs = self._proofs.values()
        parts += [f"shrinking {raw.case.oracle} on program {raw.index + 1}" for raw, *_ in proofs]
        return ", ".join(parts)

    def counts(self) -> tuple[int, int, tuple[TargetSummary, ...]]:
        return self._totals.programs, self._totals.checks, self._totals.summaries()

    def outcome(self) -> PlanOutcome:
        totals = self._totals
        findings = totals.findings()
        return PlanOutcome(
            findings,
            totals.summaries(self._set_up.faults()),
            self._sweep.tried("clustering the findings", (), clusters, findings),
            coverage=totals.coverage,
            tested=totals.tested,
            conventions=totals.conventions,
        )


def _lacks_evidence(proof: FindingProof, raw: Raw, known: Mapping[str, KnownTrigger]) -> bool:
    """Whether a proof that was made beside other findings lacks the evidence that it needs beside these."""
    finding = proof.finding
    if finding is None or finding.evidence is not None:
        return False
    lead = known.get(skeleton(finding.program))
    return lead is None or precedence(finding, raw.index) < lead.precedence


def _proving(raw: Raw) -> str:
    return f"proving that {raw.case.oracle} is wrong about program {raw.index + 1} of {raw.family}"


def _in_words(raw: Raw) -> str:
    """The disagreement before it is shrunk."""
    case = raw.case
    name = (case.kind.value if case.kind is not None else case.verdict.value).replace("_", " ")
    if case.verdict is Verdict.CRASHED:
        name = failure_of(case.message).value
    numbers = ""
    if case.worst is not None and case.expected is not None and case.got is not None:
        entry, index = case.worst
        place = f"{entry}{list(index)}" if index else entry
        digits = 17 if f"{case.expected:.6g}" == f"{case.got:.6g}" else 6  # so that the two look different
        numbers = f" by {place}: expected {case.expected:.{digits}g}, got {case.got:.{digits}g}"
    check = check_name(case.question.modes)
    return f"{name} in {case.oracle}, {check} {case.question.precision}{numbers or f': {case.message}'}"

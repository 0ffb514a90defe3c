"""The results of a sweep so far: counts by oracle, and findings by signature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.findings.prove import FindingProof
from gradfuzz.fuzzer.findings.signature import Precedence, precedence
from gradfuzz.fuzzer.questions.tested import added, ordered
from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.finding import Class, Finding, Reason, Verdict
from gradfuzz.fuzzer.results.identity import short_id
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep.batch import Batch
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.strategies import FAMILIES


@dataclass(slots=True)
class _Merged:
    """A finding, its precedence and signature, and where else it is wrong."""

    finding: Finding
    key: Precedence
    signature: str
    also: list[str]


def summarized(
    name: str,
    version: str,
    family: str,
    counts: Counts,
    fault: str | None = None,
    *,
    ended: bool = False,
) -> TargetSummary:
    """The counts of an oracle in a family, as events and reports have them; with ops where the sweep ended,
    as they would make each report of progress long.
    """
    reasons = {reason: n for reason, n in counts.reasons.items() if n}
    verdicts = {v.value: counts.verdicts[v] for v in Verdict if v is not Verdict.INCONCLUSIVE}
    worst = counts.worst_agreeing
    return TargetSummary(
        name,
        version,
        family,
        counts.checks,
        inconclusive=reasons,
        worst_agreeing=worst,
        drawn=counts.drawn,
        never=tuple(sorted(set(FAMILIES[family].turns) - counts.ops.keys())),
        ops=dict(sorted(counts.ops.items())) if ended else {},
        programs=counts.programs,
        refused=counts.refused,
        failures={failure: n for failure, n in counts.failures.items() if n},
        proofs=counts.proofs,
        untraced=dict(counts.untraced.most_common()),
        fault=fault,
        **verdicts,
    )


class Totals:
    """Adds up batches and proofs in the order in which they are given."""

    def __init__(self, oracles: Sequence[tuple[str, str]], families: Sequence[str]) -> None:
        self._versions = dict(oracles)
        self._counts = {(name, family): Counts() for name, _ in oracles for family in families}
        self._families = tuple(families)
        self._coverage: Counter[str] = Counter()
        self._tested: dict[str, Counter[str]] = {}
        self._conventions: Counter[str] = Counter()
        self._entries: list[_Merged] = []
        self._counted: Counter[tuple[str, Class]] = Counter()
        self._sightings: Counter[str] = Counter()
        self.programs = 0

    # Counts

    @property
    def checks(self) -> int:
        return sum(counts.checks for counts in self._counts.values())

    @property
    def coverage(self) -> Mapping[str, int]:
        return {goal: self._coverage[goal] for family in self._families for goal in FAMILIES[family].goals}

    @property
    def tested(self) -> Mapping[str, Mapping[str, int]]:
        return ordered(self._tested)

    @property
    def conventions(self) -> Mapping[str, int]:
        """The most often met first."""
        return dict(sorted(self._conventions.items(), key=lambda item: (-item[1], item[0])))

    def summaries(self, faults: Mapping[str, str] | None = None) -> tuple[TargetSummary, ...]:
        """One summary per oracle and family. At the end `faults` has what oracles raise whose set-up is at
        fault.
        """
        fault, ended = dict(faults or {}), faults is not None
        return tuple(
            summarized(name, self._versions[name], family, counts, fault.get(name), ended=ended)
            for (name, family), counts in self._counts.items()
        )

    def add(self, batch: Batch, family: str) -> None:
        """Adds a batch to the counts."""
        self.programs += batch.programs
        self._coverage.update(batch.coverage)
        self._tested = added([self._tested, batch.tested])
        self._conventions.update(batch.conventions)
        for name, counts in batch.counts.items():
            self._counts[name, family].add(counts)
        for (name, kind), n in batch.explained.items():
            self._counted[TargetName.of(name).owner, kind] += n

    def count(self, raws: Sequence[Raw]) -> None:
        """Counts disagreements that are not shrunk."""
        for raw in raws:
            if raw.case.kind is not None:
                self._counted[TargetName.of(raw.case.oracle).owner, raw.case.kind] += 1

    # Findings

    def leads(self, finding: Finding, index: int) -> bool:
        """Whether the finding would be told: no other one of its cause precedes it so far."""
        entry = self._entry(finding)
        return entry is None or precedence(finding, index) < entry.key

    def settle(self, raw: Raw, proof: FindingProof) -> Finding | None:
        """Enters a proof: the finding as it stands now, or None for a false alarm and another sighting."""
        if proof.explained:
            self._sightings[proof.explained] += 1
            return None
        if proof.finding is None:
            counts = self._counts[raw.case.oracle, raw.family]
            counts.verdicts[raw.case.verdict] -= 1
            counts.verdicts[Verdict.INCONCLUSIVE] += 1
            counts.reasons[proof.reason or Reason.REFERENCES] += 1
            return None
        finding = proof.finding
        key = precedence(finding, raw.index)
        entry = self._entry(finding)
        if entry is None:
            named = replace(finding, id=short_id(finding.id, self._signatures()), signature=finding.id)
            entry = _Merged(named, key, finding.id, [_where(finding)])
            self._entries.append(entry)
        else:
            _merge(entry, finding, key)
        return _noted(entry, 0)

    def _entry(self, finding: Finding) -> _Merged | None:
        return next((e for e in self._entries if e.signature == finding.id), None)

    def _signatures(self) -> list[str]:
        return [entry.signature for entry in self._entries]

    def findings(self) -> tuple[Finding, ...]:
        """Ranked, each with how often it was seen. In which order they came makes no difference.

        Disagreements that were not shrunk count for the finding of their library and class that precedes the
        others.
        """
        entries = sorted(self._entries, key=lambda entry: (entry.key, entry.signature))
        more = Counter({k: self._sightings[entry.signature] for k, entry in enumerate(entries)})
        for (base, kind), n in self._counted.items():
            own = [k for k, e in enumerate(entries) if TargetName.of(e.finding.target).owner == base]
            alike = [k for k in own if entries[k].finding.kind is kind]
            for k in (alike or own)[:1]:
                more[k] += n
        taken = self._signatures()
        found = (
            replace(_noted(entry, more[k]), id=short_id(entry.signature, taken))
            for k, entry in enumerate(entries)
        )
        return tuple(sorted(found, key=rank))


def _where(finding: Finding) -> str:
    return f"{finding.kind.value} as {finding.check} of {finding.target}"


def _merge(entry: _Merged, other: Finding, key: Precedence) -> None:
    """Merges a finding of the same cause. The smaller key gives the numbers; the note lists the other."""
    old = entry.finding
    lead = other if key < entry.key else old
    faults = tuple(dict.fromkeys((*old.own_faults, *other.own_faults)))
    entry.finding = replace(
        lead, id=old.id, signature=entry.signature, seen=old.seen + other.seen, own_faults=faults
    )
    entry.key = min(key, entry.key)
    if _where(other) not in entry.also:
        entry.also.append(_where(other))


def _noted(entry: _Merged, more: int) -> Finding:
    """The finding with `more` sightings and a note on where else it shows."""
    finding = entry.finding
    also = sorted(text for text in entry.also if text != _where(finding))
    note = f"{finding.note} Also {', '.join(also)}.".strip() if also else finding.note
    return replace(finding, seen=finding.seen + more, note=note)

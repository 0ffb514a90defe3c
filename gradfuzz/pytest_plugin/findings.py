"""The wrong answers of a test as findings: as asked, or shrunk as in a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.findings.prove import prove
from gradfuzz.fuzzer.findings.representative import finding_at
from gradfuzz.fuzzer.findings.reproducer import reproducer
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.finding import CheckResult, Finding
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.pytest_plugin.cells import Put


@dataclass(frozen=True, slots=True, eq=False)
class JudgedAnswer:
    """An answer with its verdict: its question, the number of its point, and the oracle."""

    put: Put
    place: int
    oracle: Oracle
    case: CheckResult

    @property
    def sort(self) -> tuple[str, str, str]:
        """Answers of one kind are reported once: one use of an op, one library, one class."""
        kind = self.case.kind.value if self.case.kind else ""
        return self.put.use, TargetName.of(self.oracle.name).owner, kind


@dataclass(frozen=True, slots=True)
class CellResult:
    """What one test found, as one process tells another."""

    cell: tuple[str, str, str, str]
    """Target, suite, op and check."""
    questions: int
    summaries: tuple[TargetSummary, ...]
    findings: tuple[Finding, ...]
    review: Review
    conventions: Mapping[str, int]


def kinds_of(wrong: Iterable[JudgedAnswer]) -> list[list[JudgedAnswer]]:
    """Those of each kind, the first first: suites begin with the simplest situation."""
    found: dict[tuple[str, str, str], list[JudgedAnswer]] = {}
    for one in wrong:
        found.setdefault(one.sort, []).append(one)
    return list(found.values())


def as_met(wrong: JudgedAnswer, family: str, seen: int) -> Finding:
    """The finding at the suite's own question and point."""
    case, question, batched = wrong.case, wrong.case.question, wrong.oracle.traits.batched
    candidate = Candidate.of(question, wrong.place, together=batched)
    asked = f"From the suite {family}: {wrong.put.use}, {wrong.put.situation}; not shrunk."
    finding = finding_at(candidate, case, wrong.oracle.version, family, question.program)
    note, script = f"{case.message.strip()} {asked}".strip(), reproducer(candidate, case, wrong.oracle)
    return _named(replace(finding, seen=seen, note=note, script=script))


def shrunk(wrong: JudgedAnswer, family: str, seen: int) -> tuple[Finding | None, str]:
    """The finding shrunk as in a sweep; or None and the reason, if it is not reproduced."""
    question, batched = wrong.case.question, wrong.oracle.traits.batched
    case = replace(wrong.case, question=replace(question, points=(wrong.case.point,)))
    others, place = (question.points, wrong.place) if batched else ((), 0)
    proof = prove(Raw(case, family, 0, others, place))
    if proof.finding is None:
        return None, proof.message or (proof.reason.value if proof.reason else "")
    return _named(replace(proof.finding, id="", seen=seen)), ""


def _named(finding: Finding) -> Finding:
    whole = signature(finding)
    return replace(finding, id=f"GF-{whole[:4]}", signature=whole)

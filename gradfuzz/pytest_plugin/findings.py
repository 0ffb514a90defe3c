"""The wrong answers of a test as findings: as asked, or shrunk as in a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.findings.prove import prove
from gradfuzz.fuzzer.findings.representative import finding_point
from gradfuzz.fuzzer.findings.reproducer import reproducer
from gradfuzz.fuzzer.findings.signature import signature
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.finding import CheckResult, Finding
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.verdict.judge import check_name
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.pytest_plugin.cells import Put


@dataclass(frozen=True, slots=True, eq=False)
class Wrong:
    """A wrong answer: its question, the number of its point, the oracle, and the verdict."""

    put: Put
    place: int
    oracle: Oracle
    case: CheckResult

    @property
    def sort(self) -> tuple[str, str, str]:
        """Answers of one kind are reported once: one use of an op, one library, one class."""
        return (
            self.put.use,
            TargetName.of(self.oracle.name).owner,
            self.case.kind.value if self.case.kind else "",
        )


def distinct(wrong: Iterable[Wrong]) -> list[Wrong]:
    """The first of each kind: suites begin with the simplest situation."""
    first: dict[tuple[str, str, str], Wrong] = {}
    for one in wrong:
        first.setdefault(one.sort, one)
    return list(first.values())


def as_met(wrong: Wrong, family: str, seen: int) -> Finding:
    """The finding at the suite's own question and point."""
    case, question = wrong.case, wrong.case.question
    assert case.kind is not None, "what is wrong has a class"
    candidate, point = _candidate(wrong), finding_point(case)
    finding = Finding(
        id="",
        target=wrong.oracle.name,
        version=wrong.oracle.version,
        check=check_name(question.modes),
        kind=case.kind,
        family=family,
        precision=question.precision,
        modes=question.modes,
        wrt=question.wrt,
        program=question.program,
        original=question.program,
        weights=question.weights,
        directions=question.directions,
        smallest=point,
        clearest=point,
        worst=point,
        seen=seen,
        references=case.references,
        reproduced=(1, 1),
        note=" ".join(
            filter(
                None,
                [
                    case.message.strip(),
                    f"From the suite {family}: {wrong.put.use}, {wrong.put.situation}; not shrunk.",
                ],
            )
        ),
        script=reproducer(candidate, case, wrong.oracle),
        others=candidate.others,
        place=candidate.place,
    )
    return _named(finding)


def shrunk(wrong: Wrong, family: str, seen: int) -> tuple[Finding | None, str]:
    """The finding shrunk as in a sweep; or None and the reason, if it is not reproduced."""
    question = wrong.case.question
    case = replace(wrong.case, question=replace(question, points=(wrong.case.point,)))
    proof = prove(
        Raw(
            case,
            family,
            0,
            question.points if wrong.oracle.traits.batched else (),
            wrong.place if wrong.oracle.traits.batched else 0,
        )
    )
    if proof.finding is None:
        return None, proof.message or (proof.reason.value if proof.reason else "")
    return _named(replace(proof.finding, id="", seen=seen)), ""


def _named(finding: Finding) -> Finding:
    whole = signature(finding)
    return replace(finding, id=f"GF-{whole[:4]}", signature=whole)


def _candidate(wrong: Wrong) -> Candidate:
    return Candidate.of(wrong.case.question, wrong.place, together=wrong.oracle.traits.batched)

"""Shrinking keeps the class of a finding, or makes a wrong number of lost digits: disagreements as they are
met, proved, and what is left asked again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from gradfuzz.fuzzer.findings.prove import FindingProof, prove
from gradfuzz.fuzzer.findings.survey import answered
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.fuzzer.results.finding import Class, FindingPoint
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.shrinking.shrink import cost
from gradfuzz.fuzzer.shrinking.trial import same_kind
from gradfuzz.fuzzer.sweep.batch import WorkItem, drawn
from gradfuzz.fuzzer.verdict.classify import CLEAR, classify_entry
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.metamorphic_checks import peer_cases
from gradfuzz.fuzzer.verdict.shared import oracle
from gradfuzz.oracles.base import Question
from gradfuzz.oracles.mutants.registry import GROUPS, MUTANTS

FAMILIES = (
    dict.fromkeys((row.alias for row in MUTANTS), "loops")
    | dict.fromkeys((row.alias for row in GROUPS["linear algebra"]), "linalg")
    | dict.fromkeys((row.alias for row in GROUPS["tensors"]), "tensor")
    | dict.fromkeys((row.alias for row in GROUPS["complex numbers"]), "complex")
    | dict.fromkeys((row.alias for row in GROUPS["batching"]), "vectorize")
    | {"broadcast-mean": "linalg", "dropped-tangent": "tensor"}
)
"""Where each planted bug shows most."""

QUICK = (
    *(
        "nx-1747",
        "stale-primal",
        "last-trip-only",
        "initial-value",
        "used-after",
        "dropped-tangent",
        "take-overwrites",
    ),
    *("cumulative-unflipped", "cholesky-batch", "solve-batch", "conjugate-forgotten", "foreign-axis"),
)
TOGETHER = 500
"""So many findings all slow tests of this file look at, at least."""

BATCH, BATCHES = 12, 25
"""So many programs are drawn at once, and no seed is asked about more batches of them."""

SEEDS = range(100, 140)
"""Of the slow tests."""

PER_SEED = 4
BY_NUMBERS = frozenset(
    {Class.SIGN_FLIP, Class.RATIO_BLOWUP, Class.MISSING, Class.SPURIOUS, Class.WRONG_VALUE}
)


def met(name: str, seed: int, most: int = PER_SEED, orders: tuple[int, ...] = (1, 2)) -> list[Raw]:
    """Disagreements of a mutant in the programs of one seed, no two of the same class and check; agreement is
    left to the engine.
    """
    family, target, evaluator = FAMILIES[name], oracle(f"mutant:{name}"), Evaluator()
    found: dict[tuple[Class, str], Raw] = {}
    for index, question in asked_about(family, seed, orders):
        if target.supports(question) is not None:
            continue
        for place, case in enumerate(peer_cases(evaluator, target.name, question, target.answer(question))):
            if case.kind is not None:
                alone = replace(case, question=replace(question, points=(case.point,)))
                raw = Raw(alone, family, index, question.points if target.traits.batched else (), place)
                found.setdefault((case.kind, "".join(question.modes)), raw)
        if len(found) >= most:
            break
    return list(found.values())[:most]


def asked_about(family: str, seed: int, orders: tuple[int, ...]) -> Iterator[tuple[int, Question]]:
    """The questions of one seed, each with the number of its program."""
    for number in range(BATCHES):
        first = number * BATCH
        for index, case in enumerate(drawn(WorkItem(number, first, BATCH, family, seed, ())), first):
            for question in questions(case, index, seed, orders=orders):
                yield index, question


@dataclass(frozen=True)
class Shown:
    """What came of one disagreement."""

    raw: Raw
    proof: FindingProof
    original: Candidate


def proved(raw: Raw) -> Shown:
    question = replace(raw.case.question, points=raw.points or raw.case.question.points)
    place = raw.place if raw.points else 0
    return Shown(raw, prove(raw), Candidate.of(question, place, together=bool(raw.points)))


def check(shown: Shown) -> None:
    """The class that was met is the one that the finding has and shows, and what a fresh evaluator says with
    both references. Lost digits may become a wrong number, which shows more.
    """
    kind, finding, candidate = shown.raw.case.kind, shown.proof.finding, shown.proof.candidate
    assert finding is not None
    assert candidate is not None
    assert kind is not None
    told = f"{finding.target}, program {shown.raw.index}: {kind} became {finding.kind}\n{finding.program}"
    if kind is Class.PRECISION and finding.kind in BY_NUMBERS:
        kind = finding.kind
    assert finding.kind is kind, told
    assert candidate.program == finding.program
    assert (candidate.modes, candidate.precision) == (shown.original.modes, shown.original.precision)
    question, answer = candidate.alone().question(), answered(candidate, oracle(finding.target))
    (case,) = Evaluator().cases(finding.target, question, [answer], confirm=True)
    assert same_kind(case, kind, shown.raw.case.message), (
        f"{told}\nasked again: {case.verdict}, {case.kind}, {case.message}"
    )
    assert case.references == finding.references == ("arb", "mpmath")
    assert cost(candidate)[:-1] <= cost(shown.original)[:-1], (
        told
    )  # the last one is the names, which are made canonical
    if kind in BY_NUMBERS:
        assert case.error_over_allowed is not None
        assert case.error_over_allowed >= CLEAR
        for point in (finding.smallest, finding.clearest):
            assert class_of(point) is kind, told


def class_of(point: FindingPoint) -> Class | None:
    """The class that a reader sees in the entry that a finding shows."""
    allowed = (
        0.0
        if math.isinf(point.error_over_allowed)
        else abs(point.entry_got - point.entry_expected) / point.error_over_allowed
    )
    return classify_entry(point.entry_expected, point.entry_got, allowed)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_class_stays(name: str, seed: int) -> None:
    for raw in met(name, seed, most=2, orders=(1,)):
        shown = proved(raw)
        if shown.proof.finding is not None:
            check(shown)


def findings(name: str) -> Iterator[Shown]:
    """The findings of a mutant over the seeds, as many as are its share; a disagreement that is not proved
    says why.
    """
    left = math.ceil(TOGETHER / len(MUTANTS))
    for raw in itertools.chain.from_iterable(met(name, seed) for seed in SEEDS):
        shown = proved(raw)
        if shown.proof.finding is None:
            assert shown.proof.reason is not None
            print(f"{name}: {raw.case.kind} is not proved: {shown.proof.message}")
            continue
        yield shown
        left -= 1
        if not left:
            return
    pytest.fail(f"{left} findings of mutant:{name} are missing")


@pytest.mark.slow
@pytest.mark.parametrize("name", [row.alias for row in MUTANTS])
def test_the_class_stays_in_five_hundred_findings(name: str) -> None:
    for shown in findings(name):
        check(shown)

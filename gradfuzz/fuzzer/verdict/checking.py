"""One question to several oracles, judged: what a program's check asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Array, Mode, Oracle, Point, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import Program


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Every oracle's answer at every point, judged.

    `cases` go point by point, and at each point oracle by oracle in the order asked. Each has the truth with
    its bound and the names of the references. `versions` has the version of each oracle.
    """

    question: Question
    cases: tuple[CheckResult, ...]
    versions: Mapping[str, str]

    @property
    def wrong(self) -> bool:
        """Whether any case disagrees or raised."""
        return any(case.verdict.is_wrong for case in self.cases)


def check_program(
    program: Program,
    points: Sequence[Point],
    precision: Precision,
    wrt: Sequence[str] | None,
    modes: Sequence[Mode],
    oracle_names: Sequence[str],
    *,
    weights: Sequence[Array | None] | None = None,
    directions: Mapping[str, Array] | None = None,
) -> Check:
    """Asks each of the oracles for the derivative of `program` at `points`, and judges the answers by both
    references.

    `wrt` None means all float inputs; `modes` lists the differentiations, innermost first. Weights of the
    outputs and directions are 1 unless given. An oracle's name may stand for several entry points ("torch").
    Raises `UsageError`, `UnknownTargetError` and `MissingExtraError`.
    """
    question = plain_question(program, points, precision, wrt, modes)
    if weights is not None:
        question = replace(question, weights=tuple(weights))
    if directions is not None:
        question = replace(question, directions=dict(directions))
    oracles = [way for name in oracle_names for way in resolve(name, supervised=True)]
    return check_question(question, list({way.name: way for way in oracles}.values()))


def check_question(
    question: Question, oracles: Sequence[Oracle], evaluator: Evaluator | None = None, *, quick: bool = False
) -> Check:
    """The same for a given question. Questions of one truth can share an `evaluator`, which caches it.

    A `quick` check asks the second reference only where an answer is there and does not agree with the first.
    """
    evaluator = evaluator or Evaluator(trip_limit=TRIP_LIMIT)
    by_oracle: list[list[CheckResult]] = []
    for way in oracles:
        refusal = way.supports(question)
        answers = way.answer(question) if refusal is None else refused(question, refusal)
        found = evaluator.cases(way.name, question, answers, thorough=True) if quick else []
        if not quick or any(case.verdict not in (Verdict.AGREE, Verdict.UNSUPPORTED) for case in found):
            found = evaluator.cases(way.name, question, answers, confirm=True, thorough=True)
        by_oracle.append(found)
    cases = tuple(case for at_point in zip(*by_oracle, strict=True) for case in at_point)
    return Check(question, cases, {way.name: way.version for way in oracles})


def refused(question: Question, why: str) -> list[Answer]:
    """The answers of an oracle that does not support a question."""
    return [Answer("unsupported", message=why)] * len(question.points)

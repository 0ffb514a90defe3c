"""Questions to several oracles, judged: one question, or the loop forms of a program at several points, as
`gradfuzz check` asks them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import DomainError, EvaluationError, TripLimitError
from gradfuzz.fuzzer.conventions.ties import entries_at_ties
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import Tolerance
from gradfuzz.fuzzer.verdict import shared
from gradfuzz.fuzzer.verdict.along import (
    FEW,
    MANY,
    Entry,
    Judge,
    entries_of,
    farthest,
    located,
    noise_of,
    of_entry,
    products,
    reached,
    suspicious,
    told,
)
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.judge import conventions_met
from gradfuzz.fuzzer.verdict.large import is_large
from gradfuzz.fuzzer.verdict.rounding import sustained
from gradfuzz.fuzzer.verdict.truth import question_key
from gradfuzz.oracles.base import ALONG, Answer, Array, Doubt, Mode, Oracle, Point, ProbedQuestion, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

_STEPS: tuple[Mode, ...] = ("rev", "fwd")

_AT_TIES = 8
"""So many of the entries that move a tie are judged one by one, where the entries are many."""

_UNSAFE = (Reason.TRIP_LIMIT, Reason.PRIMAL)
"""Where a target's loop might not end although the true one does, or vice versa."""


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
    question: Question, oracles: Sequence[Oracle], evaluator: Evaluator | None = None
) -> Check:
    """The same for a given question. Questions of one truth can share an `evaluator`, which caches it."""
    evaluator = evaluator or Evaluator(trip_limit=TRIP_LIMIT)
    by_oracle: list[list[CheckResult]] = []
    for way in oracles:
        refusal = way.supports(question)
        answers = way.answer(question) if refusal is None else refused(question, refusal)
        cases = evaluator.cases(way.name, question, answers, confirm=True, thorough=True)
        by_oracle.append([sustained(case, question, k, way, evaluator) for k, case in enumerate(cases)])
    every = tuple(case for at_point in zip(*by_oracle, strict=True) for case in at_point)
    return Check(question, every, {way.name: way.version for way in oracles})


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """(loop form, case) for every point, oracle and program, in this order; and the oracles' versions."""

    cases: list[tuple[str, CheckResult]]
    versions: dict[str, str]

    @property
    def wrong(self) -> bool:
        """Whether any answer disagrees with the truth, or raises where there is a truth."""
        return any(case.verdict.is_wrong for _, case in self.cases)


def ask_everyone(
    programs: Sequence[tuple[str, Program]],
    points: Sequence[Sequence[Point]],
    oracle_names: Sequence[str],
    *,
    precision: Precision,
    wrt: Sequence[str] | None = None,
    order: int = 1,
    modes: Sequence[Mode] | None = None,
) -> Answers:
    """A case for every point, oracle and program; `points` has those of each program.

    An oracle is asked in `modes`, or in the first mode of this order that it supports, reverse before
    forward. A name may stand for several entry points of a library, which is loaded last. Entry points that
    answer all points in one call are asked where there are several points, or by their own name. Raises
    `TripLimitError` where a loop does not end, `DomainError` where the program is defined at none of the
    points, `UnknownTargetError` and `MissingExtraError`.
    """
    steps = modes if modes is not None else _STEPS[:1] * order
    pairs = zip(programs, points, strict=True)
    questions = [plain_question(program, at, precision, wrt, steps) for (_, program), at in pairs]
    for question in questions:
        _refuse_undefined(question)
    several = any(len(at) > 1 for at in points)
    ways = [(name, way) for name in oracle_names for way in resolve(name, supervised=True)]
    wanted = [way for name, way in ways if several or not way.traits.batched or way.name == name]
    oracles = list({way.name: way for way in wanted}.values())
    found: list[tuple[int, int, int, str, CheckResult]] = []
    for form, ((loop, _), question) in enumerate(zip(programs, questions, strict=True)):
        for place, oracle in enumerate(oracles):
            asked = question if modes is not None else first_supported(oracle, question)
            found += [(k, place, form, loop, case) for k, case in enumerate(_cases(oracle, asked))]
    cases = [(loop, case) for *_, loop, case in sorted(found, key=lambda item: item[:3])]
    return Answers(cases, {oracle.name: oracle.version for oracle in oracles})


def first_supported(oracle: Oracle, question: Question) -> Question:
    """The question in the first modes of its order that `oracle` supports, reverse first; else unchanged."""
    for modes in itertools.product(_STEPS, repeat=question.order):
        asked = replace(question, modes=modes)
        if oracle.supports(asked) is None:
            return asked
    return question


def _refuse_undefined(question: Question) -> None:
    truths = [value.truth for value in shared.evaluator().reference_values(question, confirm=True)]
    endless = next((truth for truth in truths if truth.doubt is Doubt.TRIP_LIMIT), None)
    if endless is not None:
        raise TripLimitError(endless.words)
    if truths and all(truth.doubt is Doubt.DOMAIN for truth in truths):
        known = ", ".join(conventions_met(question, question.points[0]))
        raise DomainError(
            truths[0].words + (f" (see `gradfuzz targets conventions`: {known})" if known else "")
        )


def _cases(oracle: Oracle, question: Question) -> list[CheckResult]:
    """One case per point. Points where rounding may change a decision are not asked: loops might not end."""
    refusal = oracle.supports(question)
    answers = [Answer("ok")] * len(question.points) if refusal is None else refused(question, refusal)
    found = enumerate(shared.evaluator().tolerances(question) if refusal is None else ())
    safe = [k for k, tolerance in found if tolerance.reason not in _UNSAFE]
    if safe:
        given = oracle.answer(replace(question, points=tuple(question.points[k] for k in safe)))
        for k, answer in zip(safe, given, strict=True):
            answers[k] = answer
    return shared.evaluator().cases(oracle.name, question, answers, confirm=True)


class LazyAnswers:
    """What an oracle says to a question of one point and to its `ProbedQuestion`s, asked when it is needed.

    In reverse mode the gradient itself serves all directions. In forward mode the oracle is asked along them.
    """

    def __init__(self, oracle: Oracle, question: Question) -> None:
        self.oracle = oracle
        self.question = question
        self._refusal = oracle.supports(question)
        self._known: dict[object, Answer] = {}

    def to(self, asked: Question) -> Answer:
        """The answer to the question, or to it along directions."""
        if self._refusal is not None:
            return Answer("unsupported", message=self._refusal)
        if self.question.modes[-1:] != ("fwd",):
            asked = self.question
        key = question_key(asked)
        if key not in self._known:
            (self._known[key],) = self.oracle.answer(asked)
        return self._known[key]


def check_answers(answers: LazyAnswers, evaluator: Evaluator, *, entries: bool = False) -> CheckResult:
    """The verdict on an oracle's answer, as cheaply as it can be had.

    The second reference is asked only where an answer is there and does not agree with the first, and if
    possible only about the worst entry. A gradient of more than a few entries is judged along directions
    first; with `entries` only one of more than `MANY`.
    """
    question = answers.question

    def guess(asked: Question) -> CheckResult:
        return _judged(answers, asked, evaluator, widen=False)

    size = entries_of(question) if question.order else 0
    if size > (MANY if entries else FEW):
        (tolerance,) = evaluator.tolerances(question)
        case = guess(evaluator.probed(question))
        at_tie = size > MANY and case.truth is not None and case.truth.kink
        tied = _tied(question) if at_tie else None
        beside = None if tied is None else _beside_ties(case, tied, guess)
        found = _looked_at(answers, evaluator, case if beside is None else beside, tolerance)
        if tied is not None and beside is not None and found is not None and found.verdict is Verdict.AGREE:
            return _with_ties(answers, evaluator, case, found, tied, tolerance)
        if found is not None:
            return found
    return _as_needed(answers, question, evaluator)


def _looked_at(
    answers: LazyAnswers, evaluator: Evaluator, case: CheckResult, tolerance: Tolerance
) -> CheckResult | None:
    """The verdict after a closer look, if one is needed, at an answer that was judged along directions; None
    where its entries can be judged one by one.
    """
    question = answers.question
    hopeless = tolerance.reason is not None and _has_truth(case)
    closer = suspicious(case)
    if is_large(question) and case.verdict is Verdict.AGREE:
        # One wrong entry hides among a million that may err, and what many share is no sign of one.
        closer = farthest(case, tolerance, CLEAR) is not None
    if not closer or case.verdict is Verdict.CRASHED or hopeless:
        return told(case)
    if entries_of(question) <= MANY:
        return None

    def guess(asked: Question) -> CheckResult:
        return _judged(answers, asked, evaluator, widen=False)

    return located(case, guess, lambda one: _confirmed(answers, one, evaluator, tolerance), tolerance)


def _beside_ties(case: CheckResult, tied: Mapping[str, Array], judge: Judge) -> CheckResult | None:
    """The verdict at a kink on the entries that are not `tied`, along the same directions; None where there
    are none, or they do not lead away from the kink.
    """
    asked, question = case.question, case.question.plain
    assert isinstance(asked, ProbedQuestion), "judged along directions"
    rest = [{n: np.where(tied[n], 0.0, w) for n, w in probe.items()} for probe in asked.probes]
    rest = [probe for probe in rest if any(map(np.any, probe.values()))]
    beside = judge(ProbedQuestion.of(question, rest)) if rest else None
    return None if beside is None or (beside.truth is not None and beside.truth.kink) else beside


def _tied(question: Question) -> Mapping[str, Array] | None:
    """Where an entry moves a tie; None where that is not known."""
    (point,) = question.points
    try:
        return entries_at_ties(question.program, point, question.precision, question.wrt)
    except EvaluationError:
        return None


def _with_ties(
    answers: LazyAnswers,
    evaluator: Evaluator,
    case: CheckResult,
    beside: CheckResult,
    tied: Mapping[str, Array],
    tolerance: Tolerance,
) -> CheckResult:
    """The verdict where the entries that are not `tied` are right, `beside`; along the directions all of them
    have the verdict of `case`. A few of the others are judged one by one.
    """
    question = answers.question
    places = [(k, tuple(at)) for k, n in enumerate(question.wrt) for at in np.argwhere(tied[n]).tolist()]
    found = [
        of_entry(question, place, lambda one: _confirmed(answers, one, evaluator, tolerance))
        for place in places[:_AT_TIES]
    ]
    wrong = next((one for one in found if one.verdict.is_wrong), None)
    if wrong is not None:
        return wrong
    right = (Verdict.AGREE, Verdict.CONVENTION)
    if case.verdict in right or (len(found) == len(places) and all(one.verdict in right for one in found)):
        message = "between the slopes to the left and to the right, for the entries that move a tie"
        return replace(beside, verdict=Verdict.CONVENTION, message=message, conventions=case.conventions)
    return replace(beside, unjudged=tied, message="the entries that move a tie are not judged")


def check_entry(answers: LazyAnswers, evaluator: Evaluator, entry: Entry) -> CheckResult:
    """The verdict on one entry of an answer, by the first reference."""
    many = entries_of(answers.question) > MANY

    def judge(asked: ProbedQuestion) -> CheckResult:
        part = _judged_by_part(answers, asked, evaluator) if many else None
        return part or _judged(answers, asked, evaluator)

    return of_entry(answers.question, entry, judge)


def _confirmed(
    answers: LazyAnswers, asked: ProbedQuestion, evaluator: Evaluator, tolerance: Tolerance
) -> CheckResult:
    """The verdict by both references. Where they are asked about the part that an entry reaches alone, the
    engine's gradient of the whole program, in `tolerance`, has to be theirs.
    """
    part = _judged_by_part(answers, asked, evaluator, confirm=True) if tolerance.reason is None else None
    if part is not None and part.truth is not None:
        (true,), (bound,) = part.truth.gradient[ALONG], part.truth.bounds[ALONG]
        engine, noise = products(asked, tolerance.gradient)[ALONG], noise_of(asked, tolerance)[ALONG]
        if np.all(np.abs(engine - true) <= tolerance.allowed(engine, noise, np.asarray(bound))):
            return part
    return _judged(answers, asked, evaluator, confirm=True)


def _judged_by_part(
    answers: LazyAnswers, asked: ProbedQuestion, evaluator: Evaluator, *, confirm: bool = False
) -> CheckResult | None:
    """The verdict on one entry, from the part of the program that it reaches; None where that has none, or an
    accuracy is granted by the largest entry.
    """
    found = None if evaluator.accuracy else reached(asked)
    answer = answers.to(asked)
    if found is None or answer.status != "ok":
        return None
    (value,) = evaluator.reference_values(found.question, confirm=confirm)
    if value.truth.status != "ok":
        return None
    about = answers.oracle.name, found.question, [found.answer(answer, value.truth)]
    (case,) = evaluator.cases(*about, confirm=confirm, thorough=True, lines=True)
    if case.verdict not in (Verdict.AGREE, Verdict.DISAGREE) or not case.worst or case.worst[0] != ALONG:
        return None
    truth = replace(value.truth, values=(), value_bounds=())
    return replace(case, question=asked, point=asked.points[0], answer=answer, truth=truth)


def _judged(
    answers: LazyAnswers, asked: Question, evaluator: Evaluator, *, confirm: bool = False, widen: bool = True
) -> CheckResult:
    about = answers.oracle.name, asked, [answers.to(asked)]
    return evaluator.cases(*about, confirm=confirm, thorough=True, widen=widen)[0]


def _as_needed(answers: LazyAnswers, asked: Question, evaluator: Evaluator) -> CheckResult:
    case = _judged(answers, asked, evaluator)
    unsettled = case.verdict is Verdict.INCONCLUSIVE and _has_truth(case)  # a second truth changes nothing
    if unsettled or case.verdict in (Verdict.AGREE, Verdict.UNSUPPORTED):
        return case
    confirm = functools.partial(_judged, answers, evaluator=evaluator, confirm=True)
    if case.verdict is Verdict.DISAGREE and case.worst is not None and case.worst[0] in asked.wrt:
        name, index = case.worst
        worst = of_entry(asked, (asked.wrt.index(name), index), confirm)
        if worst.verdict is Verdict.DISAGREE:
            return replace(case, references=worst.references)
    return confirm(asked)


def _has_truth(case: CheckResult) -> bool:
    return case.truth is not None and case.truth.status == "ok"


def refused(question: Question, why: str) -> list[Answer]:
    """The answers of an oracle that does not support a question."""
    return [Answer("unsupported", message=why)] * len(question.points)

"""Checks without references: answers agree with the engine, or with answers to metamorphic variants.

Where two differ by more than rounding explains, the references are asked about both, and their verdict is the
check's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.tolerance.allowed import Tolerance
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.metamorphic import MetamorphicVariant, relations
from gradfuzz.oracles.base import Answer, Array, Oracle, Question


def alike(
    answer: Answer, values: Sequence[Array], gradient: Mapping[str, Array], tolerance: Tolerance
) -> bool:
    """Whether an answer equals some values and a gradient up to rounding."""
    if answer.status != "ok" or len(answer.values) != len(values):
        return False
    pairs: list[tuple[Array | None, Array, Array]] = []
    pairs += zip(answer.values, values, tolerance.value_noise, strict=True)
    pairs += [(answer.gradient.get(name), g, tolerance.noise[name]) for name, g in gradient.items()]
    for got, other, noise in pairs:
        if got is None or np.shape(got) != np.shape(other):
            return False
        exact_kind = np.asarray(other).dtype.kind in "biu"
        if not exact_kind and np.asarray(got).dtype != np.dtype(tolerance.precision):
            return False
        exact = np.asarray(other, np.float64)
        allowed = tolerance.allowed(exact, noise, np.zeros(np.shape(other)))
        with np.errstate(invalid="ignore"):
            if not np.all(np.abs(np.asarray(got, np.float64) - exact) <= CLEAR / 2 * allowed):
                return False
    return True


def like_engine(answer: Answer, tolerance: Tolerance) -> bool:
    """Whether an answer equals the engine's: then there is nothing to judge."""
    return alike(answer, tolerance.values, tolerance.gradient, tolerance)


def peer_cases(
    evaluator: Evaluator, oracle: str, question: Question, answers: Sequence[Answer]
) -> list[CheckResult]:
    """The verdicts at all points: agreement where the engine says the same, else by the references."""
    result = []
    for k, (answer, tolerance) in enumerate(zip(answers, evaluator.tolerances(question), strict=True)):
        case = CheckResult(oracle, question, question.points[k], None, answer, Verdict.AGREE)
        if tolerance.reason is not None:
            case = _undecided(case, tolerance)
        elif not like_engine(answer, tolerance):
            (case,) = evaluator.cases(oracle, question, [answer], at=[k])
        result.append(case)
    return result


def variant_cases(
    evaluator: Evaluator,
    target: Oracle,
    question: Question,
    answers: Sequence[Answer],
    cases: Sequence[CheckResult],
    turn: int,
    skipped: frozenset[str] = frozenset(),
    eager: Oracle | None = None,
) -> list[CheckResult]:
    """A metamorphic variant of a question, by the relation whose turn it is: one verdict per point.

    `answers` and `cases` are the target's answers and verdicts. Points where one is wrong already, or
    missing, have no variant. `eager` is the entry point without jit for a target with one: the same question
    asked there is the variant.
    """
    fair = [k for k, case in enumerate(cases) if case.answer.status == "ok" and not _settled(case.verdict)]
    if not fair:
        return []
    variant, asked = _whose_turn(question, turn, skipped, target) if eager is None else None, target
    if eager is not None:
        variant, asked = MetamorphicVariant("without jit", (question,), lambda given: given[0]), eager
    if variant is None or any(asked.supports(q) is not None for q in variant.questions):
        return []
    given = asked.answer_all(variant.questions)
    return [
        case
        for k in fair
        for case in _compared(evaluator, target.name, asked.name, question, k, answers[k], variant, given)
    ]


def _settled(verdict: Verdict) -> bool:
    """Whether a variant has nothing to add."""
    return verdict.is_wrong or verdict is Verdict.UNSUPPORTED


def _whose_turn(
    question: Question, turn: int, skipped: frozenset[str], target: Oracle
) -> MetamorphicVariant | None:
    known = relations(together=target.traits.batched)
    found = [relation for name, relation in known.items() if name not in skipped]
    for k in range(len(found)):
        for variant in islice(found[(turn + k) % len(found)](question), 1):
            return variant
    return None


def _compared(
    evaluator: Evaluator,
    target: str,
    oracle: str,
    question: Question,
    k: int,
    answer: Answer,
    variant: MetamorphicVariant,
    given: Sequence[Sequence[Answer]],
) -> list[CheckResult]:
    """The variant's verdict at point `k`: agreement, or on a contradiction the references' verdict.

    The first answer's verdict counts if it is wrong.
    """
    place = k if variant.order is None else variant.order[k]
    own = [answers[place] for answers in given]
    if any(other.status == "unsupported" for other in own):
        return []
    mapped = variant.back(own)
    first = variant.questions[0]
    case = CheckResult(oracle, first, first.points[place], None, own[0], Verdict.AGREE)
    if mapped.status == "ok":
        if alike(answer, mapped.values, mapped.gradient, _strict(question, mapped)):
            return [case]
        tolerance = evaluator.tolerances(question)[k]
        if tolerance.reason is not None:
            return [_undecided(case, tolerance)]
        if alike(answer, mapped.values, mapped.gradient, tolerance):
            return [case]
    judged: list[CheckResult] = []
    for q, other in zip(variant.questions, own, strict=True):
        judged += evaluator.cases(oracle, q, [other], at=[place])
    first_cases = evaluator.cases(target, question, [answer], at=[k])
    return judged + [case for case in first_cases if case.verdict is Verdict.DISAGREE]


def _undecided(case: CheckResult, tolerance: Tolerance) -> CheckResult:
    """The case, undecided because rounding cannot be measured."""
    return replace(case, verdict=Verdict.INCONCLUSIVE, reason=tolerance.reason, message=tolerance.message)


def _strict(question: Question, like: Answer) -> Tolerance:
    """The tolerance of rounding the results alone."""
    return Tolerance(
        question.precision,
        value_noise=tuple(np.zeros(np.shape(y)) for y in like.values),
        noise={name: np.zeros(np.shape(g)) for name, g in like.gradient.items()},
    )

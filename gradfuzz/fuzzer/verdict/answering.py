"""The work of `gradfuzz check`: loop forms of one program, several points, every oracle in a mode it has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradfuzz.errors import DomainError, TripLimitError
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Reason
from gradfuzz.fuzzer.verdict.checking import refused
from gradfuzz.fuzzer.verdict.judge import conventions_met
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Answer, Doubt, Mode, Oracle, Point, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

_STEPS: tuple[Mode, ...] = ("rev", "fwd")

_UNSAFE = (Reason.TRIP_LIMIT, Reason.PRIMAL)
"""Where a target's loop might not end although the true one does, or vice versa."""


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
    truths = [value.truth for value in evaluator().reference_values(question, confirm=True)]
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
    if refusal is not None:
        return evaluator().cases(oracle.name, question, refused(question, refusal), confirm=True)
    safe = [k for k, found in enumerate(evaluator().tolerances(question)) if found.reason not in _UNSAFE]
    answers = [Answer("ok")] * len(question.points)
    if safe:
        given = oracle.answer(replace(question, points=tuple(question.points[k] for k in safe)))
        for k, answer in zip(safe, given, strict=True):
            answers[k] = answer
    return evaluator().cases(oracle.name, question, answers, confirm=True)

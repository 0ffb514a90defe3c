"""A wrong number in a precision below float64, asked about in float64.

What is allowed comes from the engine's derivative. A library may write the same derivative with other
intermediates: 1/y to the fourth power where the engine divides four times leaves the range of float32. So
where a program is long, a number is wrong only if the same rule is wrong in float64. A program of a few ops
without a loop is short enough for its tolerance to hold: there a kernel shows that is bad in float32 alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.fuzzer.results.trigger import loops_in
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Array, Oracle, Point, Question
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.syntax import Call, Program, walk

_SHORT = 12
"""A straight program of at most so many operations is short."""


def is_long(program: Program) -> bool:
    return bool(loops_in(program)) or sum(isinstance(node, Call) for node in walk(program)) > _SHORT


def may_be_rounding(case: CheckResult) -> bool:
    """Whether a case is about a finite number in a precision below float64."""
    numbers = case.kind is not None and case.kind.of_finite_numbers
    return case.verdict is Verdict.DISAGREE and numbers and case.question.precision != "float64"


def sustained(
    case: CheckResult, question: Question, place: int, target: Oracle, evaluator: Evaluator
) -> CheckResult:
    """The verdict on the answer at point `place` of a question.

    Inconclusive where the program is long and the answer to the same in float64 is right.
    """
    if not may_be_rounding(case) or not is_long(question.program):
        return case
    wide = in_float64(question)
    if target.supports(wide) is not None:
        return case
    (there,) = evaluator.cases(target.name, wide, [target.answer(wide)[place]], at=[place])
    return doubted(case) if there.verdict is Verdict.AGREE else case


def doubted(case: CheckResult) -> CheckResult:
    """The case, undecided because the same is right in float64."""
    precision = case.question.precision
    message = f"right in float64 at the same inputs: rounding, or the range of {precision}, may explain it"
    return replace(case, verdict=Verdict.INCONCLUSIVE, kind=None, reason=Reason.NOISE, message=message)


def in_float64(question: Question) -> Question:
    """The same question in float64, at the same inputs."""

    def wide(x: Array) -> Array:
        return x.astype(np.float64) if is_float(x.dtype) else x

    points = [{name: wide(np.asarray(x)) for name, x in point.inputs.items()} for point in question.points]
    return replace(question, precision="float64", points=tuple(map(Point, points)))

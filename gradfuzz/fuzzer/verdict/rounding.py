"""A wrong number that rounding may still explain: what is asked before it counts.

What is allowed comes from the engine's derivative. A library may write the same derivative with other
intermediates: 1/y to the fourth power where the engine divides four times leaves the range of float32. So
five kinds of wrong answers need more evidence.

    about a long program, below         the same rule is wrong in float64, too; also of NaN and infinity
    float64
    below float64, where a form that    the same
    libraries use cannot be measured
    of a rule in exact numbers, below   the same: a rule for float32 may be an approximation that is as good
    float64, with half of its digits    as float32, as one that takes the limit at 0 for all |x| < eps
    off by less than a hundred times    it is wrong by the same amount at points that differ in their last
    what is allowed                     bits: rounding changes from point to point, and a mistake does not
    NaN or infinity, where all points   no other point leaves the range of the dtype, or has no derivative:
    are answered together               what is not finite there may meet this one in a sum

The determinant of a matrix that is nearly singular is of the second kind: its derivatives by the inverse lose
all digits, and those of the minors none. A program of a few ops without a loop is short enough for its
tolerance to hold: there a kernel shows that is bad in float32 alone. Digits that are lost by far more than is
allowed count as lost, whatever the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.results.finding import FINITE, CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.results.trigger import loops_in
from gradfuzz.fuzzer.verdict.along import products
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Array, Oracle, Point, Question
from gradfuzz.programs.language.precision import FORMATS, is_float
from gradfuzz.programs.language.syntax import Call, Program, walk

_SHORT = 12
"""A straight program of at most so many operations is short."""

_MOVED = 6
"""How many points with other last bits are asked about."""

_SEED = 20
"""The last bits are the same in every run."""

_STEADY = 2.0
"""Errors at points next to each other that differ by no more than this factor, and not in sign, are one."""

_BY_FAR = 100.0
"""An unsteady error of so many times what is allowed is more than rounding does anywhere else."""


def is_long(program: Program) -> bool:
    return bool(loops_in(program)) or sum(isinstance(node, Call) for node in walk(program)) > _SHORT


def may_be_rounding(case: CheckResult) -> bool:
    """Whether a case is about a finite number in a precision below float64."""
    numbers = case.kind is not None and case.kind.of_finite_numbers
    rounded = case.question.precision != "float64" and case.answer.bounds is None
    return case.verdict is Verdict.DISAGREE and numbers and rounded


def needs_float64(case: CheckResult, question: Question, place: int, evaluator: Evaluator) -> bool:
    """Whether a case about point `place` of a question counts only if the same is wrong in float64."""
    if case.kind is Class.WRONG_RULE:
        return case.question.precision != "float64"
    if case.kind is Class.NON_FINITE:
        return case.question.precision != "float64" and is_long(question.program)
    return may_be_rounding(case) and (is_long(question.program) or evaluator.is_partial(question, place))


def sustained(
    case: CheckResult, question: Question, place: int, target: Oracle, evaluator: Evaluator
) -> CheckResult:
    """The verdict on the answer at point `place` of a question, undecided where rounding may explain it."""
    if needs_float64(case, question, place, evaluator):
        wide = in_float64(question)
        if target.supports(wide) is None:
            (there,) = evaluator.cases(target.name, wide, [target.answer(wide)[place]], at=[place])
            if there.verdict is Verdict.AGREE:
                return doubted(case)
    if case.kind is Class.NON_FINITE and target.traits.batched:
        for reason, message in _SPOILS.items():
            if reason in _reasons_elsewhere(question, place, evaluator):
                return case.unsettled(reason, message)
    return unsettled_digits(case) if loses_by_rounding(case, target, evaluator) else case


_SPOILS = {
    Reason.RANGE: "a point that is answered with it leaves the range of the dtype",
    Reason.DOMAIN: "a point that is answered with it has no derivative",
}
"""Why another point of a call may be NaN or infinite, and make a sum over all points so."""


def _reasons_elsewhere(question: Question, place: int, evaluator: Evaluator) -> list[Reason | None]:
    """Why the other points than that at `place` cannot be judged."""
    reasons = [tolerance.reason for tolerance in evaluator.tolerances(question)]
    return reasons[:place] + reasons[place + 1 :]


def loses_by_rounding(case: CheckResult, target: Oracle, evaluator: Evaluator) -> bool:
    """Whether an answer is off by no more than rounding may do, and by other amounts at points next to it."""
    if case.kind not in (*FINITE, Class.PRECISION) or (case.error_over_allowed or 0.0) >= _BY_FAR:
        return False
    if case.worst is None or case.truth is None or case.worst[0] not in case.truth.gradient:
        return False
    moved = replace(case.question, points=_next_to(case.point, case.question))
    if target.supports(moved) is not None:
        return False
    errors = _errors(case, moved, target.answer(moved), evaluator)
    low, high = min(errors, default=0.0), max(errors, default=0.0)
    return low * high <= 0.0 or max(abs(low), abs(high)) > _STEADY * min(abs(low), abs(high))


def _errors(
    case: CheckResult, moved: Question, answers: Sequence[Answer], evaluator: Evaluator
) -> list[float]:
    """The errors of the case's worst entry at the points of another question that have a truth."""
    assert case.worst is not None, "a number that is wrong has a place"
    name, index = case.worst
    errors = []
    for answer, reference in zip(answers, evaluator.reference_values(moved), strict=True):
        truth = reference.truth
        if truth.status == "ok" and answer.status == "ok":
            got = products(moved, answer.gradient)[name]
            errors.append(float(got[index]) - float(truth.gradient[name][index]))
    return errors


def _next_to(point: Point, question: Question) -> tuple[Point, ...]:
    """Points whose entries by which is differentiated are a few units in the last place away."""
    rng = np.random.default_rng(_SEED)
    points = []
    for _ in range(_MOVED):
        moved = {name: np.asarray(x) for name, x in point.inputs.items()}
        for name in question.wrt:
            x = moved[name]
            if is_float(x.dtype):
                steps = rng.integers(-8, 9, x.shape) * FORMATS[question.precision].eps
                moved[name] = (x.astype(np.float64) * (1.0 + steps)).astype(x.dtype)
        points.append(Point(moved))
    return tuple(points)


def unsettled_digits(case: CheckResult) -> CheckResult:
    """The case, undecided because the error is another one next to the point."""
    message = "the error changes with the last bits of the inputs: rounding may explain it"
    return case.unsettled(Reason.NOISE, message)


def doubted(case: CheckResult) -> CheckResult:
    """The case, undecided because the same is right in float64."""
    precision = case.question.precision
    why = f"rounding, or the range of {precision}, may explain it"
    if case.kind is Class.WRONG_RULE:
        why = f"the rule is an approximation for {precision}"
    message = f"right in float64 at the same inputs: {why}"
    return case.unsettled(Reason.NOISE, message)


def in_float64(question: Question) -> Question:
    """The same question in float64, at the same inputs."""

    def wide(x: Array) -> Array:
        return x.astype(np.float64) if is_float(x.dtype) else x

    points = [{name: wide(np.asarray(x)) for name, x in point.inputs.items()} for point in question.points]
    return replace(question, precision="float64", points=tuple(map(Point, points)))

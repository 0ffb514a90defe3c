"""A wrong number that rounding may still explain: what is asked before it counts.

What is allowed comes from the engine's derivative. A library may write the same derivative with other
intermediates: 1/y to the fourth power where the engine divides four times leaves the range of float32. So
eight kinds of wrong answers need more evidence.

    about a long program, below         the same rule is wrong in float64, too; of NaN and infinity: it is not
    float64                             right there
    below float64, where a form that    the same
    libraries use cannot be measured,
    or may leave the range
    in float64, where the square of an  none counts: no precision is wider
    intermediate leaves the range
    of a rule in exact numbers, below   the same: a rule for float32 may be an approximation that is as good
    float64, with half of its digits    as float32, as one that takes the limit at 0 for all |x| < eps
    off by less than a hundred times    it is wrong by the same amount at points that differ in their last
    what is allowed                     bits: rounding changes from point to point, and a mistake does not
    of an entry that is small beside    it stays about the same where the inputs change by a little more than
    the largest, by little beside that  the answer is off
    nearly right                        the same; otherwise it is of the class *precision*: the rule is
                                        right, and the library loses digits
    NaN or infinity, where all points   no other point leaves the range of the dtype, has no derivative, or
    are answered together               meets a convention of which NaN is an answer: what is not finite there
                                        may meet this one in a sum

The determinant of a matrix that is nearly singular is of the second kind: its derivatives by the inverse lose
all digits, and those of the minors none. A program of a few ops without a loop is short enough for its
tolerance to hold: there a kernel shows that is bad in float32 alone. Digits that are lost by far more than is
allowed count as lost, whatever the points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.results.finding import FINITE, CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.results.trigger import loops_in
from gradfuzz.fuzzer.verdict.along import products
from gradfuzz.fuzzer.verdict.conventions import NAN_IS_LEGAL
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.judge import conventions_met
from gradfuzz.oracles.base import Array, Oracle, Point, Question, known
from gradfuzz.programs.language.precision import FORMATS, is_float
from gradfuzz.programs.language.syntax import Call, Program, walk

_SHORT = 12
"""A straight program of at most so many operations is short."""

_MOVED = 6
"""How many points with other last bits are asked about."""

_STEADY = 2.0
"""Errors at points next to each other that differ by no more than this factor, and not in sign, are one."""

_BY_FAR = 100.0
"""An unsteady error of so many times what is allowed is more than rounding does anywhere else."""

_NEARLY = 0.1
"""An answer is nearly right if it is off by at most this part of the truth."""

_FARTHEST = 0.01
"""The most by which inputs are changed, relative to them."""

_LITTLE = 100.0
"""An error is small up to so many eps of the largest entry: a product of matrices rounds like that."""

_UNTOLD = "rounding may explain it, and float64 does not tell at the same inputs"

_EXTREME = "the square of an intermediate is too near the end of float64's range"

_SMALL_ERROR = (
    "the error is small beside the largest entry, and another one next to the point: rounding may explain it"
)


def is_long(program: Program) -> bool:
    return bool(loops_in(program)) or sum(isinstance(node, Call) for node in walk(program)) > _SHORT


def may_be_rounding(case: CheckResult) -> bool:
    """Whether a case is about a finite number that was rounded, in a precision below float64."""
    return case.question.precision != "float64" and _is_of_rounded(case)


def _is_of_rounded(case: CheckResult) -> bool:
    """Whether a case is about a finite number that was rounded."""
    numbers = case.kind is not None and case.kind.of_finite_numbers
    return case.verdict is Verdict.DISAGREE and numbers and case.answer.bounds is None


def needs_float64(case: CheckResult, question: Question, place: int, evaluator: Evaluator) -> bool:
    """Whether a case about point `place` of a question counts only if the same is wrong in float64."""
    if case.kind is Class.WRONG_RULE:
        return case.question.precision != "float64"
    if case.kind is Class.NON_FINITE:
        return case.question.precision != "float64" and is_long(question.program)
    if not may_be_rounding(case):
        return False
    asked = question, place
    return is_long(question.program) or evaluator.is_partial(*asked) or evaluator.is_extreme(*asked)


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
            if there.verdict is Verdict.INCONCLUSIVE and may_be_rounding(case):
                return case.unsettled(Reason.NOISE, _UNTOLD)
    elif question.precision == "float64" and _is_of_rounded(case) and evaluator.is_extreme(question, place):
        return case.unsettled(Reason.RANGE, _EXTREME)
    if case.kind is Class.NON_FINITE and target.traits.batched:
        for reason, message in _SPOILS.items():
            if reason in _reasons_elsewhere(question, place, evaluator):
                return case.unsettled(reason, message)
    if loses_by_rounding(case, target, evaluator):
        return unsettled_digits(case)
    small, nearly = _is_small(case), _is_nearly_right(case)
    if not (small or nearly) or not _is_erratic(case, target, evaluator):
        return case
    if small:
        return case.unsettled(Reason.NOISE, _SMALL_ERROR)
    return replace(case, kind=Class.PRECISION)


_SPOILS = {
    Reason.RANGE: "a point that is answered with it leaves the range of the dtype",
    Reason.DOMAIN: "a point that is answered with it has no derivative",
    Reason.KINK: "a point that is answered with it is one where NaN is an answer",
}
"""Why another point of a call may be NaN or infinite, and make a sum over all points so."""


def _reasons_elsewhere(question: Question, place: int, evaluator: Evaluator) -> list[Reason | None]:
    """Why the other points than that at `place` cannot be judged."""
    found = evaluator.tolerances(question)
    reasons = [Reason.RANGE if tolerance.leaves_range else tolerance.reason for tolerance in found]
    for k, point in enumerate(question.points):
        if NAN_IS_LEGAL.intersection(conventions_met(question, point)):
            reasons[k] = Reason.KINK
    return reasons[:place] + reasons[place + 1 :]


def loses_by_rounding(case: CheckResult, target: Oracle, evaluator: Evaluator) -> bool:
    """Whether an answer is off by no more than rounding may do, and by other amounts at points next to it."""
    if case.kind not in (*FINITE, Class.PRECISION) or (case.error_over_allowed or 0.0) >= _BY_FAR:
        return False
    nearby = _nearby(case, target, evaluator, 8 * FORMATS[case.question.precision].eps)
    return nearby is not None and _unsteady([got - expected for expected, got in nearby])


def _is_small(case: CheckResult) -> bool:
    """Whether every entry that is wrong is off by little beside the largest entry of the derivative."""
    if case.kind not in (*FINITE, Class.PRECISION) or case.truth is None:
        return False
    truth = case.truth
    slopes = (np.abs(known(x, truth.bounds[name])) for name, x in truth.gradient.items())
    largest = max((float(np.max(x, initial=0.0)) for x in slopes), default=0.0)
    room = _LITTLE * FORMATS[case.question.precision].eps * largest
    return _is_within(case, {name: np.full_like(x, room) for name, x in case.truth.gradient.items()})


def _is_nearly_right(case: CheckResult) -> bool:
    """Whether every entry that is wrong is nearly right."""
    if case.kind not in FINITE or case.truth is None:
        return False
    return _is_within(case, {name: _NEARLY * np.abs(x) for name, x in case.truth.gradient.items()})


def _is_within(case: CheckResult, room: Mapping[str, Array]) -> bool:
    """Whether every entry whose error is not allowed has at most that of `room`. No where there is no true
    derivative: at a kink, what is allowed is about the slopes on both sides.
    """
    if case.answer.status != "ok" or not case.allowed:
        return False
    assert case.truth is not None, "what is allowed comes with a truth"
    if case.truth.status != "ok":
        return False
    got = products(case.question, case.answer.gradient)
    errors = {name: np.abs(got[name] - case.truth.gradient[name]) for name in case.allowed}
    return all(np.all((error <= case.allowed[n]) | (error <= room[n])) for n, error in errors.items())


def _is_erratic(case: CheckResult, target: Oracle, evaluator: Evaluator) -> bool:
    """Whether the error changes where the inputs change a little more than the answer is off, and the truth
    hardly does.

    The last bits are too little for that: the sum of two large numbers that cancel has the same error until
    the truth has moved by one of their last bits. A bug at a special value is not erratic: next to the point
    nothing is wrong.
    """
    if case.expected is None or case.got is None or case.worst is None:
        return False
    off = abs(case.got - case.expected) / abs(case.expected) if case.expected else 0.0
    most = min(max(FORMATS[case.question.precision].half_of_the_digits, 4.0 * off), _FARTHEST)
    nearby = _nearby(case, target, evaluator, most) or []
    name, index = case.worst
    if any(abs(expected - case.expected) > _NEARLY * abs(case.expected) for expected, _ in nearby):
        return False
    errors = [got - expected for expected, got in nearby]
    return sum(abs(error) > case.allowed[name][index] for error in errors) > 1 and _unsteady(errors)


def _unsteady(errors: Sequence[float]) -> bool:
    low, high = min(errors, default=0.0), max(errors, default=0.0)
    return not (low > 0.0 or high < 0.0) or max(abs(low), abs(high)) > _STEADY * min(abs(low), abs(high))


def _nearby(
    case: CheckResult, target: Oracle, evaluator: Evaluator, most: float
) -> list[tuple[float, float]] | None:
    """Expected and got for the case's worst entry at points that differ by at most a share of their entries,
    where there is a truth; None if they cannot be asked.
    """
    if case.worst is None or case.truth is None or case.worst[0] not in case.truth.gradient:
        return None
    question = replace(case.question, points=tuple(points_beside(case.point, most, _MOVED)))
    if target.supports(question) is not None:
        return None
    name, index = case.worst
    found = []
    references = evaluator.reference_values(question)
    for answer, reference in zip(target.answer(question), references, strict=True):
        truth = reference.truth
        if truth.status == "ok" and answer.status == "ok":
            got = products(question, answer.gradient)[name]
            found.append((float(truth.gradient[name][index]), float(got[index])))
    return found


def points_beside(point: Point, most: float, count: int) -> Iterator[Point]:
    """Points whose floats differ by eighths of `most`, relative to each; the same in every run."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        moved = {name: np.asarray(x) for name, x in point.inputs.items()}
        for name, x in moved.items():
            if is_float(x.dtype):
                steps = rng.integers(-8, 9, x.shape) * most / 8
                moved[name] = (x.astype(np.float64) * (1.0 + steps)).astype(x.dtype)
        yield Point(moved)


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

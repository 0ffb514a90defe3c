"""A wrong number that rounding may still explain: what is asked before it counts.

What is allowed comes from the engine's derivative. A library may write the same derivative with other
intermediates: 1/y to the fourth power where the engine divides four times leaves the range of float32. So
some wrong answers need more evidence.

    below float64, of a long program, or of     the same is wrong in float64; of NaN and infinity: it is
    one whose other forms cannot be measured,   not right there. A rule for float32 may be an approximation
    or may leave the range, or of which         that is as good as float32
    rounding leaves decisions open; of a rule
    in exact numbers
    in float64, where the square of an          none counts: no precision is wider
    intermediate leaves the range
    off by less than a hundred times what is    it is wrong by the same amount at points that differ in
    allowed                                     their last bits: rounding changes from point to point, and
                                                a mistake does not
    little beside the largest entry             it stays about the same where the inputs change by a little
                                                more than the answer is off
    nearly right                                the same; otherwise it is of the class *precision*: the rule
                                                is right, and the library loses digits
    NaN or infinity, where all points are       no other point leaves the range of the dtype, has no
    answered together                           derivative, or meets a convention of which NaN is an answer
    an exception, where they are                every other point is in the function's domain

The determinant of a matrix that is nearly singular is of the first kind: its derivatives by the inverse lose
all digits, and those of the minors none. A program of a few ops without a loop is short enough for its
tolerance to hold: there a kernel shows that is bad in float32 alone. Digits that are lost by far more than is
allowed count as lost, whatever the points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.conventions.table import NAN_IS_LEGAL
from gradfuzz.fuzzer.results.finding import FINITE, CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.results.trigger import loops_in
from gradfuzz.fuzzer.verdict.along import products
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.judge import conventions_met
from gradfuzz.oracles.base import Array, Doubt, Oracle, Point, Question, Truth, known
from gradfuzz.programs.language.precision import FORMATS, is_float
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call

_SHORT = 12
"""A straight program of at most so many operations is short."""

_MOVED = 6
"""How many points with other last bits are asked about."""

_STEADY = 2.0
"""Errors at points next to each other that differ by no more than this factor, and not in sign, are one."""

_BY_FAR = 100.0
"""An error of so many times what is allowed is more than rounding does anywhere else, and one of so many eps
of the largest entry more than a product of matrices does.
"""

_NEARLY = 0.1
"""An answer is nearly right if it is off by at most this part of the truth. Points are next to each other
where their inputs differ by at most the square of it.
"""

_MAY_BE = "rounding may explain it"


def is_long(program: Program) -> bool:
    return bool(loops_in(program)) or sum(isinstance(node, Call) for node in walk(program)) > _SHORT


def is_of_numbers(case: CheckResult) -> bool:
    """Whether a derivative is called wrong that is a number, and so may be meant."""
    return case.verdict is Verdict.DISAGREE and case.kind is not None and case.kind.of_finite_numbers


def may_be_rounding(case: CheckResult, *, in_float64: bool = False) -> bool:
    """Whether a case is about a finite number that was rounded, in a precision below float64 or in that."""
    rounded = is_of_numbers(case) and case.answer.bounds is None
    return rounded and (case.question.precision == "float64") == in_float64


def needs_float64(case: CheckResult, question: Question, place: int, evaluator: Evaluator) -> bool:
    """Whether a case about point `place` of a question counts only if the same is wrong in float64."""
    if case.kind is Class.WRONG_RULE:
        return case.question.precision != "float64"
    if case.kind is Class.NON_FINITE:
        return case.question.precision != "float64" and is_long(question.program)
    if not may_be_rounding(case):
        return False
    asked = question, place
    if is_long(question.program) or evaluator.tolerances(question)[place].open:
        return True
    return evaluator.is_partial(*asked) or evaluator.is_extreme(*asked)


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
                message = f"{_MAY_BE}, and in float64 the answer at the same inputs cannot be judged either"
                return case.unsettled(Reason.NOISE, message)
    elif may_be_rounding(case, in_float64=True) and evaluator.is_extreme(question, place):
        message = "an intermediate number is so large or small that its square leaves the range of float64"
        return case.unsettled(Reason.RANGE, message)
    if case.kind in (Class.NON_FINITE, Class.ERROR) and target.traits.batched:
        for reason in _reasons_elsewhere(case, question, place, evaluator):
            why = "is not defined" if reason is Reason.DOMAIN else "may not be finite"
            return case.unsettled(reason, f"another point of the same call {why}")
    return _by_neighbours(case, target, evaluator)


def _reasons_elsewhere(
    case: CheckResult, question: Question, place: int, evaluator: Evaluator
) -> Sequence[Reason]:
    """Why other points than that at `place` may be NaN or infinite, and make a sum over all points so, or may
    raise.
    """
    found = []
    known = evaluator.reference_values(question), evaluator.tolerances(question)
    for k, (point, value, tolerance) in enumerate(zip(question.points, *known, strict=True)):
        if k == place:
            continue
        if value.truth.doubt is Doubt.DOMAIN:  # which the engine does not meet in what no output needs
            found.append(Reason.DOMAIN)
        elif case.kind is Class.NON_FINITE:
            reason = Reason.RANGE if tolerance.leaves_range else tolerance.reason
            if NAN_IS_LEGAL.intersection(conventions_met(question, point)):
                reason = Reason.KINK
            if reason is not None and reason in (Reason.RANGE, Reason.DOMAIN, Reason.KINK):
                found.append(reason)
    return found


def _by_neighbours(case: CheckResult, target: Oracle, evaluator: Evaluator) -> CheckResult:
    """A wrong number next to answers at points that differ in their last digits: rounding errs by another
    amount at each, and a mistake does not.

    The last bits tell that of errors below `_BY_FAR`. Of larger ones they are too little: the sum of two
    large numbers that cancel has the same error until the truth has moved by one of their last bits. So the
    inputs move by a little more than the answer is off. What is small beside the largest entry may be
    rounding then, and what is nearly right has lost digits. A bug at a special value is neither: next to the
    point nothing is wrong.
    """
    truth, form = case.truth, FORMATS[case.question.precision]
    if case.kind not in (*FINITE, Class.PRECISION) or truth is None or truth.status != "ok":
        return case
    if case.expected is None or case.got is None or case.worst is None or case.worst[0] not in truth.gradient:
        return case
    if (case.error_over_allowed or 0.0) < _BY_FAR:
        nearby = _nearby(case, target, evaluator, 8 * form.eps)
        if nearby and _unsteady([got - expected for expected, got in nearby]):
            message = f"the error changes with the last bits of the inputs: {_MAY_BE}"
            return case.unsettled(Reason.NOISE, message)
    sizes = {name: np.abs(known(x, truth.bounds[name])) for name, x in truth.gradient.items()}
    little = _BY_FAR * form.eps * max(float(np.max(size, initial=0.0)) for size in sizes.values())
    small = _is_within(case, truth, dict.fromkeys(sizes, little))
    nearly = case.kind in FINITE and _is_within(case, truth, {n: _NEARLY * x for n, x in sizes.items()})
    off = abs(case.got - case.expected) / abs(case.expected) if case.expected else 0.0
    most = min(max(form.half_of_the_digits, 4.0 * off), _NEARLY**2)
    nearby = _nearby(case, target, evaluator, most) if small or nearly else []
    if any(abs(expected - case.expected) > _NEARLY * abs(case.expected) for expected, _ in nearby):
        return case
    errors, (name, index) = [got - expected for expected, got in nearby], case.worst
    if sum(abs(error) > case.allowed[name][index] for error in errors) < 2 or not _unsteady(errors):
        return case
    if small:
        message = (
            f"the error is small compared with the largest entry, and changes next to the point: {_MAY_BE}"
        )
        return case.unsettled(Reason.NOISE, message)
    return replace(case, kind=Class.PRECISION)


def _is_within(case: CheckResult, truth: Truth, room: Mapping[str, Array | float]) -> bool:
    """Whether every entry whose error is not allowed has at most that of `room`."""
    if case.answer.status != "ok" or not case.allowed:
        return False
    got = products(case.question, case.answer.gradient)
    errors = {name: np.abs(got[name] - truth.gradient[name]) for name in case.allowed}
    return all(np.all((error <= case.allowed[n]) | (error <= room[n])) for n, error in errors.items())


def _unsteady(errors: Sequence[float]) -> bool:
    low, high = min(errors, default=0.0), max(errors, default=0.0)
    return not (low > 0.0 or high < 0.0) or max(abs(low), abs(high)) > _STEADY * min(abs(low), abs(high))


def _nearby(
    case: CheckResult, target: Oracle, evaluator: Evaluator, most: float
) -> list[tuple[float, float]]:
    """Expected and got for the case's worst entry at points that differ by at most a share of their inputs,
    where there is a truth.
    """
    assert case.worst is not None, "a number is wrong"
    question = replace(case.question, points=tuple(points_beside(case.point, most, _MOVED)))
    if target.supports(question) is not None:
        return []
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
                factors = np.asarray(rng.integers(-8, 9, x.shape) * (most / 8.0))
                factors += 1.0
                moved[name] = (x * factors).astype(x.dtype, copy=False)
        yield Point(moved)


def doubted(case: CheckResult) -> CheckResult:
    """The case, undecided because the same is right in float64."""
    precision = case.question.precision
    why = f"rounding, or the range of {precision}, may explain it"
    if case.kind is Class.WRONG_RULE:
        why = f"the rule is an approximation that is good enough for {precision}"
    message = f"right in float64 at the same inputs: {why}"
    return case.unsettled(Reason.NOISE, message)


def in_float64(question: Question) -> Question:
    """The same question in float64, at the same inputs."""

    def wide(x: Array) -> Array:
        return x.astype(np.float64) if is_float(x.dtype) else x

    points = [{name: wide(np.asarray(x)) for name, x in point.inputs.items()} for point in question.points]
    return replace(question, precision="float64", points=tuple(map(Point, points)))

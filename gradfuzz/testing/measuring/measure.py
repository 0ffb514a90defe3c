"""How a function's derivative is measured: by its traced program, or by a measured or given truth.

traced        ball arithmetic on the program, and both references before anything but agreement is said; the
              program counts if it computes what the function computes, at the point and around it
reference     the exact gradient attached to the function; an exact function is traced or measured instead of
              the function
otherwise     `numeric`

`numeric` gives a second opinion where the function is defined at the point and the program is not, where the
references are inconclusive, and before an answer is called wrong. If the function's own differences
contradict the traced program, only they count.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError, TripLimitError, UntraceableError, UsageError
from gradfuzz.fuzzer.questions.weighted import seed_of, weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY
from gradfuzz.fuzzer.verdict.along import (
    FEW,
    MANY,
    Entry,
    at_entry,
    entries_of,
    located,
    noise_of,
    of_entry,
    told,
)
from gradfuzz.fuzzer.verdict.checking import LazyAnswers, check_answers, check_entry
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.rounding import (
    doubted,
    loses_by_rounding,
    may_be_rounding,
    needs_float64,
    unsettled_digits,
)
from gradfuzz.fuzzer.verdict.truth import question_key
from gradfuzz.oracles.base import ALONG, Answer, Array, Doubt, Mode, Point, Question, Truth
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT, interpret
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision, is_float
from gradfuzz.programs.language.syntax import Program, While, walk
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.testing.attached import Exact
from gradfuzz.testing.frameworks.framework import first_line
from gradfuzz.testing.measuring.measured import Method
from gradfuzz.testing.measuring.numeric import (
    TRUSTED,
    NumericTruth,
    differences_speak_for,
    judged_by_numbers,
    numeric_truth,
    own_noise,
    probed_by_size,
    slope_by_entry,
    stand_in,
)
from gradfuzz.testing.measuring.oracle import FunctionOracle
from gradfuzz.testing.measuring.subject import Subject
from gradfuzz.testing.measuring.units import in_units
from gradfuzz.tracing.common.graph import entered

FACTORS = (0.75, 1.25)
"""Factors of all inputs for points around a point: structure such as symmetry is kept, and so are signs. A
loop that stops by value may not stop at other factors.
"""

_REACH = (0.25, 2.0)
"""Differences of a function reach to these factors of an input."""

_MEASURED = 64
"""More entries than these are not measured one by one: each takes about a hundred evaluations."""

_SECOND_OPINION = (
    *(Reason.DOMAIN, Reason.KINK, Reason.PRIMAL, Reason.REFERENCES, Reason.TRIP_LIMIT),
    Reason.RANGE,
)
"""Reasons for which the program cannot be judged, but the function perhaps can."""


class _UnsupportedModeError(Exception):
    """The function has no derivative in the modes asked for: it is not measured."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.message)
        self.answer = answer


_SAME = 16.0
"""Two ways to round one computation differ by less than this many roundings of the largest entry."""


def _values(program: Program, precision: Precision, point: Point) -> tuple[Any, ...]:
    """What NumPy computes from a program. Raises what evaluating raises."""
    inputs = {p.name: entered(np.asarray(point.inputs[p.name])) for p in program.params}
    return interpret(program, inputs, NumpyNamespace(precision))


def _computes(program: Program, precision: Precision, point: Point, answer: Answer) -> bool:
    """Whether NumPy computes from the program what the function gave, up to the last bits."""
    try:
        values = _values(program, precision, point)
    except GradfuzzError:
        return False
    unit = FORMATS[precision].roundoff
    with np.errstate(all="ignore"):
        for mine, theirs in zip(values, answer.values, strict=False):
            a, b = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
            if not np.all(np.abs(a - b) <= _SAME * unit * np.max(np.abs(b), initial=0.0)):
                return False
    return answer.status == "ok"


def _has_half_of_its_digits(case: CheckResult, right: Mapping[str, Array]) -> bool:
    """Whether an answer differs by no more from what is right, beside the largest entry; True of an answer or
    a truth along directions alone.
    """
    got = {n: np.asarray(g, np.float64) for n, g in case.answer.gradient.items() if n in right}
    largest = max((float(np.max(np.abs(right[n]), initial=0.0)) for n in got), default=0.0)
    left = FORMATS[case.question.precision].half_of_the_digits * largest
    return all(np.all(np.abs(g - right[n]) <= left) for n, g in got.items())


def _is_doubtful(case: CheckResult) -> bool:
    """Whether the numbers alone do not decide a case that has a truth."""
    told = case.truth is not None and case.truth.status == "ok" and case.answer.status == "ok"
    return told and (case.verdict in (Verdict.INCONCLUSIVE, Verdict.DISAGREE) or bool(case.unjudged))


def combinations(order: int, modes: Sequence[Mode]) -> list[tuple[Mode, ...]]:
    """All sequences of `modes` up to this order, low orders first."""
    return [steps for k in range(1, order + 1) for steps in itertools.product(modes, repeat=k)]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One combination of modes, its verdict and its method."""

    case: CheckResult
    method: Method


def _of_two(case: CheckResult, numbers: Asked) -> Asked:
    """What the function's own differences say where the program cannot be judged, or why it cannot."""
    other = numbers.case
    # At a kink that smooths itself out, and near the end of the range, a right rule may return another
    # number, but no NaN.
    smooths = case.reason is Reason.KINK and other.kind is not Class.NON_FINITE
    unsure = case.reason is Reason.RANGE or smooths
    if other.verdict is Verdict.INCONCLUSIVE or (unsure and other.verdict is Verdict.DISAGREE):
        return Asked(case, "traced")
    return numbers


def _entering(subject: Subject, given: Sequence[Array], precision: Precision) -> Subject:
    """A subject at the same inputs in another precision."""
    dtype, pairs = FORMATS[precision].dtype, zip(subject.inputs, given, strict=True)
    inputs = [replace(i, value=x.astype(dtype)) if i.kind == "float" else i for i, x in pairs]
    return replace(subject, inputs=tuple(inputs), precision=precision)


def _is_of_numbers(case: CheckResult) -> bool:
    """Whether a derivative is called wrong that is a number, and so may be meant."""
    return case.verdict is Verdict.DISAGREE and case.kind is not None and case.kind.of_finite_numbers


class Inquiry:
    """A subject at its arguments, and its truth.

    `untraced` is the reason why there is no `program`, "" if there is one. `unsteady` says that the function
    returns other values each time, so that there is nothing to ask. `stopped` are the function's words that
    hide a value from differentiation, "" where it has none. Raises the exceptions of the function at
    its arguments, and `UsageError`.
    """

    def __init__(
        self,
        subject: Subject,
        exact: Subject | None = None,
        given: Exact | None = None,
        *,
        entries: bool = False,
        allowed: bool = False,
    ) -> None:
        """`exact` computes what `subject` should (None: `subject` itself). With `entries` every entry of a
        gradient is known, unless they are too many. Where it is `allowed`, a function whose words stop its
        gradient may have another one than the derivative.
        """
        outputs = subject.values([i.value for i in subject.inputs])
        rest = subject.differentiable() if len(outputs) > 1 else subject
        if rest is not subject:
            subject, exact = rest, exact and exact.like(rest)
            outputs = subject.values([i.value for i in subject.inputs])
        self._entries, self._allowed = entries, allowed
        self.subject = subject
        self.oracle = FunctionOracle(subject, exact)
        self.untraced = ""
        self.stopped = ""
        self._detached = False
        self._exact = exact or subject
        self._gradient = given.gradient if given is not None else None
        self._evaluator = Evaluator(trip_limit=TRIP_LIMIT)
        if not any(is_float(y.dtype) for y in outputs):
            raise UsageError(f"{subject.label} returns no float, so there is nothing to differentiate")
        self._blank = stand_in(subject, outputs)
        self.program = self._traced(outputs)
        self.unsteady = self.program is None and self._gradient is None and not self._exact.is_steady()
        self._known: dict[tuple[object, ...], NumericTruth] = {}
        self._wholes: dict[tuple[object, ...], Answer] = {}

    # The program

    def _traced(self, outputs: Sequence[Array]) -> Program | None:
        """The function as a program that computes the same; else None, with the reason in `untraced`."""
        if self._gradient is not None:
            self.untraced = "its gradient is given"
            return None
        values = [i.value for i in self._exact.inputs]
        try:
            with self._exact.framework.context(self._exact.precision):
                program = self._exact.framework.traced(self._exact.call, values)
            self._fits(program, outputs)
        except UntraceableError as error:
            self.untraced, self._detached = error.reason, error.detached
            self.stopped = error.reason if error.stopped else ""
            return None
        except ImportError as error:
            self.untraced = first_line(error)
            return None
        except Exception as error:  # noqa: BLE001 - a function may do anything with values that record
            self.untraced = f"{type(error).__name__}: {first_line(error)}"
            return None
        return program

    def _fits(self, program: Program, outputs: Sequence[Array]) -> None:
        """`UntraceableError` where a program differs from the function: in types, or in nearby values."""
        expected = [(i.kind, i.value.shape) for i in self.subject.inputs]
        if [(p.type.dtype, p.type.sizes) for p in program.params] != expected:
            raise UntraceableError("the traced program has other inputs")
        typed = typecheck(program)
        if [(t.is_float, t.sizes) for t in typed.outputs] != [(is_float(y.dtype), y.shape) for y in outputs]:
            raise UntraceableError("the traced program has other outputs")
        factors = (1.0, *(factor for factor in FACTORS if self.ends(factor, program)))
        points = [self._point(program, factor) for factor in factors]
        question = weighted_question(program, points, self.subject.precision, ())
        oracle = FunctionOracle(self._exact)
        answers = oracle.answer(question)
        if all(map(functools.partial(_computes, program, self.subject.precision), points, answers)):
            return
        for confirm in (False, True):  # the second reference only where the first disagrees
            cases = self._evaluator.cases(oracle.name, question, answers, confirm=confirm)
            wrong = [case.message for case in cases if case.verdict is Verdict.DISAGREE]
            if not wrong:
                return
        raise UntraceableError(f"the traced program computes something else: {wrong[0]}")

    def ends(self, factor: float, program: Program | None = None) -> bool:
        """Whether the loops of the program end at the arguments times `factor`; where not, nobody asks the
        function.
        """
        program = program or self.program
        if program is None or not any(isinstance(node, While) for node in walk(program)):
            return True
        with contextlib.suppress(GradfuzzError):
            try:
                _values(program, self.subject.precision, self._point(program, factor))
            except TripLimitError:
                return False
        return True

    # Questions

    def _point(self, program: Program, factor: float = 1.0) -> Point:
        """The arguments, floats multiplied by `factor`. Scalar zeros are moved as well."""
        inputs = {}
        for param, i in zip(program.params, self.subject.inputs, strict=True):
            if i.kind != "float":
                inputs[param.name] = np.asarray(i.value, "int64" if i.kind == "int" else "bool")
                continue
            x = np.asarray(i.value, np.float64)
            with np.errstate(over="ignore"):
                moved = x * factor if np.any(x) else i.value + (factor - 1.0) / 2.0
                inputs[param.name] = np.asarray(moved, i.value.dtype)
        return Point(inputs)

    def _question(self, program: Program, modes: Sequence[Mode], factor: float) -> Question:
        about = program, [self._point(program, factor)], self.subject.precision, modes
        question = weighted_question(*about, seed_of(i.value for i in self.subject.inputs))
        wrt = tuple(program.params[k].name for k in self.subject.wrt)
        directions = {name: question.directions[name] for name in wrt}
        return in_units(replace(question, wrt=wrt, directions=directions))

    # Asking

    def ask(self, modes: Sequence[Mode], factor: float = 1.0, entry: Entry | None = None) -> Asked:
        """The verdict in these modes at the arguments times `factor`; on one entry, given by the place of its
        input in `wrt` and its index, or on all.
        """
        if self.program is None:
            return self._by_numbers(modes, factor, entry)
        question = self._question(self.program, modes, factor)
        numbers = self._by_numbers(modes, factor) if entry is None and self._is_undefined(question) else None
        if numbers is not None and numbers.case.verdict is not Verdict.INCONCLUSIVE:
            return numbers
        answers = LazyAnswers(self.oracle, question)
        if entry is None:
            case = check_answers(answers, self._evaluator, entries=self._entries)
        else:
            case = check_entry(answers, self._evaluator, entry)
        ruled = self._by_rule(case, question) if entry is None and _is_doubtful(case) else None
        if ruled is not None and (ruled.verdict is Verdict.AGREE or ruled.kind is Class.PRECISION):
            return Asked(ruled, "traced")
        if ruled is not None:
            return self._upheld_by_differences(ruled) if factor == 1.0 else Asked(ruled, "traced")
        if case.verdict is Verdict.INCONCLUSIVE and case.reason in _SECOND_OPINION:
            return _of_two(case, numbers or self._by_numbers(modes, factor, entry))
        if case.verdict is Verdict.DISAGREE and factor == 1.0:
            return self._upheld(case)
        if case.reason is Reason.NOISE or case.unjudged or question.precision in HALF:
            case = self._with_float64(case)
        return Asked(case, "traced")

    def _by_rule(self, case: CheckResult, question: Question) -> CheckResult | None:
        """The verdict where the library's own rule decides; None where it does not, or is not known."""
        from gradfuzz.testing.measuring.own_rule import MOST, by_rule, own_rule  # balls take time to load

        if entries_of(question) > MOST or self._exact is not self.subject or self.subject.grad is not None:
            return None
        (value,) = self._evaluator.reference_values(question)
        known = all(name in case.answer.gradient for name in question.wrt)
        answer = case.answer if known else self.oracle.answer(question)[0]
        if value.truth.status != "ok" or answer.status != "ok":
            return None
        rule = own_rule(self.subject, question)
        if rule is None:
            return None
        whole = replace(case, question=question, answer=answer, truth=value.truth)
        return by_rule(whole, value.truth, rule)

    def _with_float64(self, case: CheckResult) -> CheckResult:
        """What float64 says of a derivative of lower precision: wrong there, it is wrong; right there and
        within rounding here, it is right.
        """
        wide = self._in_float64(case.question)
        if wide is None or wide.verdict is Verdict.DISAGREE:
            return wide or case
        within = case.error_over_allowed is not None and case.error_over_allowed <= 1.0
        right = {} if case.truth is None else case.truth.gradient
        if self.program is not None and not right:
            right = self._evaluator.tolerances(case.question)[0].gradient
        right_there = wide.verdict is Verdict.AGREE and not wide.unjudged
        if within and right_there and _has_half_of_its_digits(case, right):
            return replace(case, verdict=Verdict.AGREE, reason=None, message="", unjudged={})
        return case

    def _is_undefined(self, question: Question) -> bool:
        """Whether the program has no value at the point, as where it selects between a number and NaN."""
        (value,) = self._evaluator.reference_values(replace(question, modes=()))
        return value.truth.doubt is Doubt.DOMAIN

    def _upheld(self, case: CheckResult) -> Asked:
        """A disagreement that is no rounding of the rule's own, and that the function's differences by the
        worst entry do not contradict.
        """
        unsure = needs_float64(case, case.question, 0, self._evaluator)
        if unsure and self._right_in_float64(case.question):
            return Asked(doubted(case), "traced")
        if loses_by_rounding(case, self.oracle, self._evaluator):
            return Asked(unsettled_digits(case), "traced")
        truth, worst = case.truth, case.worst
        if worst is None or worst[0] not in case.question.wrt or truth is None or truth.status != "ok":
            return Asked(case, "traced")
        name, index = worst
        error = None if case.got is None or case.expected is None else abs(case.got - case.expected)
        stray = self._stray(case, (case.question.wrt.index(name), index), truth)
        if error is not None and error <= CLEAR * SAFETY * stray:
            message = (
                f"at inputs that differ in their last bits the answers err by {stray:.2g} to either side, so"
                " the error may be rounding"
            )
            return Asked(case.unsettled(Reason.NOISE, message), "traced")
        return self._upheld_by_differences(case)

    def _upheld_by_differences(self, case: CheckResult) -> Asked:
        """A disagreement that the function's differences by the worst entry do not contradict."""
        truth, worst = case.truth, case.worst
        if case.question.order > 1 or worst is None or worst[0] not in case.question.wrt:
            return Asked(case, "traced")
        if truth is None or truth.status != "ok":
            return Asked(case, "traced")
        name, index = worst
        question = self._question(self._blank, case.question.modes, 1.0)
        position = [p.name for p in case.question.program.params].index(name)
        about = self._exact, question, question.points[0], position, index
        true, got = float(truth.gradient[name][index]), case.got
        if got is not None and math.isfinite(got) and differences_speak_for(*about, true, got):
            return Asked(case, "traced")
        if not all(map(self.ends, _REACH)):
            return Asked(case, "traced")  # differences may not end, either
        slope = slope_by_entry(*about)
        if slope is None or slope.kink or slope.bound > TRUSTED * abs(slope.value):
            return Asked(case, "traced")
        granted = 2.0 * slope.bound + float(truth.bounds[name][index]) + float(case.allowed[name][index])
        if abs(true - slope.value) <= granted:
            return Asked(case, "traced")
        asked = self._by_numbers(case.question.modes, 1.0)
        if asked.case.verdict is Verdict.DISAGREE:
            return asked
        why = "the program that was traced and the function's own differences contradict each other"
        return Asked(case.unsettled(Reason.REFERENCES, f"references: {why}"), "traced")

    def _stray(self, case: CheckResult, entry: Entry, truth: Truth) -> float:
        """By how much an entry errs to either side where the inputs differ in their last bits."""
        (number, index), question = entry, case.question
        name, true = question.wrt[number], truth.gradient
        if entries_of(question) > MANY:
            question = at_entry(question, entry)
            name, true, index = ALONG, {ALONG: np.asarray([true[name][index]])}, (0,)
        return float(own_noise(self.oracle, question, true)[name][index])

    def _numeric(self, question: Question) -> NumericTruth:
        """The measured or given truth, cached. Raises nothing but gradfuzz's own errors."""
        key = question_key(question)
        if key not in self._known:
            try:
                given = self._gradient is not None
                self._known[key] = self._given(question) if given else self._by_differences(question)
            except GradfuzzError:
                raise
            except Exception as error:  # noqa: BLE001 - a function may raise anything beside its arguments
                words = f"{type(error).__name__}: {first_line(error)}"
                self._known[key] = NumericTruth(Truth.unknown(Doubt.DOMAIN, words), "Richardson")
        return self._known[key]

    def _by_differences(self, question: Question) -> NumericTruth:
        return self._of_rounded(question) or numeric_truth(self._exact, question, question.points[0])

    def _of_rounded(self, question: Question) -> NumericTruth | None:
        """The truth of a function that rounds its inputs to fewer digits: the derivative of its program for
        such inputs. Its bound is what rounding may do to that.
        """
        narrow = self._rounding
        if narrow is None or [p.name for p in narrow[0].params] != [p.name for p in question.program.params]:
            return None
        program, precision = narrow
        question = replace(question, program=program)
        (point,) = question.points
        floats = {p.name for p in program.params if p.type.is_float}
        dtype = FORMATS[precision].dtype
        few = Point({n: np.asarray(x, dtype if n in floats else None) for n, x in point.inputs.items()})
        truth = self._evaluator.reference_values(question)[0].truth
        (tolerance,) = self._evaluator.tolerances(replace(question, precision=precision, points=(few,)))
        if truth.status != "ok" or tolerance.reason is not None:
            return None
        noise = noise_of(question, tolerance)
        bounds = {n: tolerance.allowed(g, noise[n], truth.bounds[n]) for n, g in truth.gradient.items()}
        return NumericTruth(Truth("ok", gradient=truth.gradient, bounds=bounds), "traced")

    @functools.cached_property
    def _rounding(self) -> tuple[Program, Precision] | None:
        """The program of the function for inputs of fewer digits, and their precision: that of its outputs.
        None where they have all digits of the inputs, or it computes something else from those.
        """
        given = [i.value for i in self._exact.inputs]
        dtypes = {y.dtype for y in self._exact.values(given) if is_float(y.dtype)}
        precision = next((name for name, form in FORMATS.items() if {form.dtype} == dtypes), None)
        if precision is None or FORMATS[precision].roundoff <= FORMATS[self.subject.precision].roundoff:
            return None
        try:
            program = Inquiry(_entering(self._exact, given, precision)).program
        except Exception:  # noqa: BLE001 - a function may take no such inputs
            return None
        point = self._point(self._blank)
        (answer,) = self.oracle.answer(self._question(self._blank, (), 1.0))
        return (program, precision) if program and _computes(program, precision, point, answer) else None

    def _given(self, question: Question) -> NumericTruth:
        """The gradient attached to the function; its bound is the effect of rounding its arguments."""
        if question.order != 1:
            why = "a gradient was given, and no derivative of it"
            return NumericTruth(Truth.unknown(Doubt.REFERENCES, why), "reference")
        stated = replace(self.subject, grad=self._gradient)
        values = [np.asarray(question.points[0].inputs[p.name]) for p in question.program.params]

        def gradient(values: Sequence[Array]) -> list[Array]:
            found = stated.derivative(values, question.weights, [], ("rev",), "float64")[1]
            return [np.asarray(g, np.float64) for g in found]

        there = gradient(values)
        bounds = [4.0 * np.finfo(np.float64).eps * np.abs(g) for g in there]
        for sign in (-1.0, 1.0):
            factor = 1.0 + sign * 2.0**-52
            near = [np.asarray(v, np.float64) * factor if is_float(v.dtype) else v for v in values]
            apart = [np.abs(g - other) for g, other in zip(there, gradient(near), strict=True)]
            bounds = [b + a for b, a in zip(bounds, apart, strict=True)]
        by_name = [dict(zip(question.wrt, arrays, strict=True)) for arrays in (there, bounds)]
        return NumericTruth(Truth("ok", gradient=by_name[0], bounds=by_name[1]), "reference")

    def _by_numbers(self, modes: Sequence[Mode], factor: float, entry: Entry | None = None) -> Asked:
        question = self._question(self._blank, modes, factor)
        try:
            case, found = self._judged_by_numbers(LazyAnswers(self.oracle, question), entry)
        except _UnsupportedModeError as error:
            about = (self.oracle.name, question, question.points[0], None, error.answer)
            case = CheckResult(*about, Verdict.UNSUPPORTED, message=error.answer.message)
            return Asked(case, "Richardson")
        if self.stopped and found.method != "reference":
            case = self._stopped(case)
        elif (
            self._detached and found.method != "reference" and (parts := self._by_parts(case, factor, entry))
        ):
            return parts
        elif _is_of_numbers(case) and self._detached and found.method != "reference":
            why = "its gradient may be meant to differ from the derivative of what it computes"
            case = case.unsettled(Reason.REFERENCES, f"{self.untraced}: {why}")
        if may_be_rounding(case) and self._right_in_float64(question):
            case = doubted(case)
        elif entry is None and (case.reason is Reason.NOISE or case.unjudged):
            case = self._with_float64(case)
        return Asked(case, found.method)

    def _by_parts(self, case: CheckResult, factor: float, entry: Entry | None) -> Asked | None:
        """What the function of the Hermitian parts of its Hermitian matrices says; None where it says
        nothing. Its derivative is the same whichever triangle is read, and in whichever a gradient stands.
        """
        if self._parts is None or not (_is_of_numbers(case) or case.verdict is Verdict.INCONCLUSIVE):
            return None
        asked = self._parts.ask(case.question.modes, factor, entry)
        if asked.case.verdict is Verdict.AGREE and asked.method == "traced" and not asked.case.unjudged:
            if not self._answers_as(self._mirrored, case):
                return None
            message = f"{self.untraced}: the derivative by (x + x^H) / 2 is right"
            case = replace(case, verdict=Verdict.CONVENTION, kind=None, reason=None, message=message)
            return Asked(case, asked.method)
        if not _is_of_numbers(asked.case) or (asked.method != "traced" and not self._parts.untraced):
            return None  # numbers alone do not see that eigenvectors have any phase
        if self._mirrored is not self.subject:
            return None
        message = "whichever triangle the function reads, the derivative by (x + x^H) / 2 is another one"
        return Asked(replace(asked.case, message=message), asked.method)

    def _answers_as(self, mirrored: Subject, case: CheckResult) -> bool:
        """Whether the function has the same derivative at other inputs, up to the last bits."""
        if mirrored is self.subject:
            return True
        names = [p.name for p in case.question.program.params]
        there = Point(dict(zip(names, (i.value for i in mirrored.inputs), strict=True)))
        (answer,) = self.oracle.answer(replace(case.question, points=(there,)))
        own, room = case.answer.gradient, _SAME * FORMATS[case.question.precision].roundoff
        return answer.status == "ok" and all(
            np.all(np.abs(own[n] - g) <= room * np.max(np.abs(g), initial=0.0))
            for n, g in answer.gradient.items()
        )

    @functools.cached_property
    def _mirrored(self) -> Subject:
        """The subject at Hermitian matrices: its own, or such as it has the same values at."""
        values = self.subject.values([i.value for i in self.subject.inputs])
        for triangle in (np.tril, np.triu) if self.subject.of_hermitian_parts() is None else ():
            mirrored = self.subject.of_triangle(triangle)
            same = mirrored.values([i.value for i in mirrored.inputs])
            if all(map(np.array_equal, values, same)):
                return mirrored
        return self.subject

    @functools.cached_property
    def _parts(self) -> Inquiry | None:
        """The inquiry about the function of the Hermitian parts of its Hermitian matrices, if it has any."""
        subject = self._mirrored.of_hermitian_parts()
        if subject is None:
            return None
        exact = None if self._exact is self.subject else replace(self._exact, inputs=self._mirrored.inputs)
        exact = exact and exact.of_hermitian_parts()
        return Inquiry(subject, exact, entries=self._entries, allowed=self._allowed)

    def _stopped(self, case: CheckResult) -> CheckResult:
        """The verdict on a function whose own words stop its gradient. They are no excuse, unless they are
        allowed; no numbers are wrong then.
        """
        if not self._allowed or not (_is_of_numbers(case) or case.verdict is Verdict.INCONCLUSIVE):
            return case
        message = f"{self.stopped}: the gradient may differ from the derivative, which is allowed"
        return replace(case, verdict=Verdict.CONVENTION, kind=None, reason=None, message=message)

    def _right_in_float64(self, question: Question) -> bool:
        """Whether a derivative of lower precision is right at the same inputs in float64. It is not known
        otherwise what rounding does inside a function that is no program, or whether a library's rules for a
        long one stay in the range of a precision.
        """
        wide = self._in_float64(question)
        return wide is not None and wide.verdict is Verdict.AGREE

    def _in_float64(self, question: Question) -> CheckResult | None:
        """The verdict on a derivative of lower precision at the same inputs in float64, where no roundoff of
        two bytes hides a mistake; None where there is none. The function is traced again: its constants have
        more digits there.
        """
        if self._gradient is not None or question.precision == "float64":
            return None
        given = [question.points[0].inputs[p.name] for p in question.program.params]
        try:
            exact = None if self._exact is self.subject else _entering(self._exact, given, "float64")
            wide = _entering(self.subject, given, "float64")
            case = Inquiry(wide, exact, entries=self._entries).ask(question.modes).case
        except Exception:  # noqa: BLE001 - a function may take no float64
            return None
        return None if case.kind in (Class.PRECISION, Class.WRONG_PRIMAL) else case

    def _judged_by_numbers(
        self, answers: LazyAnswers, entry: Entry | None
    ) -> tuple[CheckResult, NumericTruth]:
        """The verdict and the truth behind it; along directions first where the entries are many."""
        question = answers.question

        def judge(asked: Question) -> CheckResult:
            answer = answers.to(asked)
            if answer.status == "unsupported":
                raise _UnsupportedModeError(answer)
            truth = self._numeric(asked)
            if self.stopped:  # that nothing changes with an entry is what such words are for
                truth = replace(truth, flat=frozenset())
            return judged_by_numbers(self.oracle, asked, answer, truth)

        size, most = entries_of(question), _MEASURED if self._entries else FEW
        if self._gradient is None and entry is not None:
            return of_entry(question, entry, judge), self._numeric(at_entry(question, entry))
        if self._gradient is None and size > most:
            asked = probed_by_size(question, self._whole(answers, in_full=size <= MANY))
            case = judge(asked)
            if size > _MEASURED and case.verdict is Verdict.DISAGREE:
                return located(case, judge, judge), self._numeric(asked)
            along = self._numeric(asked)
            known = all(np.all(np.isfinite(bound)) for bound in along.truth.bounds.values())
            if size > _MEASURED or (case.verdict is Verdict.AGREE and known):
                return told(case), along
        return judge(question), self._numeric(question)

    def _whole(self, answers: LazyAnswers, *, in_full: bool) -> Answer | None:
        """An answer with every entry: that of reverse mode where it was asked before, since it takes less."""
        question = answers.question
        key = question_key(question)
        if question.modes[-1] == "rev":
            self._wholes[key] = answers.to(question)
        return self._wholes.get(key) or (answers.to(question) if in_full else None)

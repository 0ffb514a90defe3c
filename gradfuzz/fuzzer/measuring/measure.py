"""How a derivative of a function is judged: by its program, by a reference, or by measured differences."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError, TripLimitError, UntraceableError, UsageError
from gradfuzz.fuzzer.measuring.attached import Exact
from gradfuzz.fuzzer.measuring.measured import Method
from gradfuzz.fuzzer.measuring.numeric import (
    STEADY,
    NumericTruth,
    apart_around,
    has_derivative,
    judged_by_numbers,
    numeric_truth,
    own_noise,
    probed_by_size,
    sizes_of,
    stand_in,
    where_smooth,
)
from gradfuzz.fuzzer.measuring.oracle import FunctionOracle
from gradfuzz.fuzzer.measuring.subject import Subject, agree_to
from gradfuzz.fuzzer.questions.weighted import in_units, plain_question, seed_of, weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY
from gradfuzz.fuzzer.tolerance.differences import COARSE
from gradfuzz.fuzzer.verdict.along import (
    FEW,
    MANY,
    Entry,
    at_entry,
    entries_of,
    farthest,
    located,
    noise_of,
    of_entry,
    signs,
    told,
)
from gradfuzz.fuzzer.verdict.checking import LazyAnswers, check_answers, check_entry
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.large import is_large, must_fit, strays
from gradfuzz.fuzzer.verdict.rounding import doubted, is_of_numbers, may_be_rounding, needs_float64
from gradfuzz.fuzzer.verdict.truth import question_key
from gradfuzz.libraries.library import Wanted, first_line
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import ALONG, Answer, Array, Doubt, Mode, Point, ProbedQuestion, Question, Truth
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT, entered, interpret
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision, is_float
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.recent import Latest
from gradfuzz.programs.language.syntax import While
from gradfuzz.programs.language.typecheck import typecheck

FACTORS = (0.75, 1.25)
"""Factors of all inputs for points around a point: structure such as symmetry is kept, and so are signs. A
loop that stops by value may not stop at other factors.
"""

_NEAR = 2.0**-10
"""So far from the arguments, as a share of them, a program that decides by numbers has to be the function."""

_REACH = (0.25, 2.0)
"""Differences of a function reach to these factors of an input."""

_TIMES = 4
"""So many times the iterations of the point, up to a power of two, are waited for beside it."""

_MEASURED = 64
"""More entries than these are neither measured one by one, where each takes about a hundred evaluations, nor
evaluated in balls.
"""

_SECOND_OPINION = (
    *(Reason.DOMAIN, Reason.KINK, Reason.PRIMAL, Reason.REFERENCES, Reason.TRIP_LIMIT),
    Reason.RANGE,
)
"""Reasons for which the program cannot be judged, but the function perhaps can."""

_OF_A_WAY = ("_parts", "_mirrored", "_narrower", "_whole_derivative", "_documented")
"""What an inquiry keeps that is about the way in which a derivative is asked."""

_SEQUENCES = 64
"""At most so many sequences of modes are asked."""

_SAME = 16.0
"""Two ways to round one computation differ by less than this many roundings of the largest entry."""


def _values(
    program: Program, precision: Precision, point: Point, trip_limit: int = TRIP_LIMIT
) -> tuple[Any, ...]:
    """What NumPy computes from a program. Raises what evaluating raises."""
    inputs = {p.name: entered(np.asarray(point.inputs[p.name])) for p in program.params}
    return interpret(program, inputs, NumpyNamespace(precision), trip_limit=trip_limit)


def _computes(
    program: Program, precision: Precision, point: Point, answer: Answer, share: float | None = None
) -> bool:
    """Whether NumPy computes from the program what the function gave, up to the last bits or a share."""
    try:
        values = _values(program, precision, point)
    except GradfuzzError:
        return False
    return answer.status == "ok" and agree_to(share or _room(precision), values, answer.values)


def _has_half_of_its_digits(case: CheckResult, right: Mapping[str, Array]) -> bool:
    """Whether an answer differs by no more from what is right, beside the largest entry; True of an answer or
    a truth along directions alone.
    """
    got = {n: np.asarray(g, np.float64) for n, g in case.answer.gradient.items() if n in right}
    largest = max((float(np.max(np.abs(right[n]), initial=0.0)) for n in got), default=0.0)
    left = FORMATS[case.question.precision].half_of_the_digits * largest
    return all(np.all(np.abs(g - right[n]) <= left) for n, g in got.items())


def _is_off(case: CheckResult, precision: Precision) -> bool:
    """Whether a wrong number is off by more than its rounding to a precision."""
    if not is_of_numbers(case) or case.got is None or case.expected is None:
        return False
    return abs(case.got - case.expected) > CLEAR * FORMATS[precision].roundoff * abs(case.expected)


def _is_same(error: float, wide: CheckResult) -> bool:
    """Whether an answer in float64 is wrong by the same, which is no rounding then."""
    if wide.verdict is not Verdict.DISAGREE or wide.got is None or wide.expected is None:
        return False
    return abs(wide.got - wide.expected - error) <= STEADY * abs(error)


def _is_doubtful(case: CheckResult) -> bool:
    """Whether the numbers alone do not decide a case that has a truth."""
    told = case.truth is not None and case.truth.status == "ok" and case.answer.status == "ok"
    return told and (case.verdict in (Verdict.INCONCLUSIVE, Verdict.DISAGREE) or bool(case.unjudged))


def chosen_modes(modes: Any) -> tuple[Mode, ...]:
    """The modes that are asked for, both for None; `UsageError` where one is not a mode."""
    several = isinstance(modes, Sequence) and not isinstance(modes, str)
    both: tuple[Mode, ...] = ("rev", "fwd")
    found: tuple[Mode, ...] = both if modes is None else tuple(modes) if several else (modes,)
    if not found or any(mode not in both for mode in found):
        raise UsageError(
            f"modes={modes!r}: a mode is 'rev' or 'fwd'; give one, a list of them, or None for both"
        )
    return found


def combinations(order: object, modes: Sequence[Mode]) -> list[tuple[Mode, ...]]:
    """All sequences of `modes` up to this order, low orders first. `UsageError` where there are too many."""
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise UsageError(f"order={order!r}: the order of a derivative is a whole number, 1 or more")
    most = next(k for k in itertools.count() if sum(len(modes) ** j for j in range(1, k + 2)) > _SEQUENCES)
    if order > most:
        what = f"{' and '.join(modes)} can be asked in too many sequences"
        raise UsageError(f"order={order}: {what}; give an order up to {most}, or one mode, as modes='rev'")
    return [steps for k in range(1, order + 1) for steps in itertools.product(modes, repeat=k)]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One combination of modes, its verdict and its method."""

    case: CheckResult
    method: Method
    way: str = ""


def _entering(subject: Subject, given: Sequence[Array], precision: Precision) -> Subject:
    """A subject at the same inputs in another precision."""
    dtype, pairs = FORMATS[precision].dtype, zip(subject.inputs, given, strict=True)
    inputs = [replace(i, value=x.astype(dtype)) if i.kind == "float" else i for i, x in pairs]
    return replace(subject, inputs=tuple(inputs), precision=precision)


def _room(precision: Precision) -> float:
    """What two ways to round one computation differ by, as a share of the largest entry."""
    return _SAME * FORMATS[precision].roundoff


def _worst_entry(case: CheckResult) -> Entry | None:
    """The worst entry of a gradient whose truth is known; None where something else is wrong."""
    if case.worst is None or case.worst[0] not in case.question.wrt:
        return None
    if case.truth is None or case.truth.status != "ok":
        return None
    return case.question.wrt.index(case.worst[0]), case.worst[1]


def _leaves_open(case: CheckResult, entry: Entry) -> bool:
    """Whether a case in which other entries are right did not judge this one."""
    rest = case.unjudged.get(case.question.wrt[entry[0]])
    return rest is not None and bool(rest[entry[1]])


class Inquiry:
    """A subject at its arguments, and its truth.

    `untraced` is the reason why there is no `program`, "" if there is one. `unsteady` says that the function
    returns other values each time, so that there is nothing to ask. `stopped` are the function's words that
    hide a value from differentiation, "" where it has none. Such a function may have a program all the same:
    where its gradient is that of the program, hiding the value changed nothing. `held` are those that are
    allowed to: the values they hide are constants in the truth. Raises the exceptions of the function at its
    arguments, and `UsageError`.
    """

    def __init__(
        self,
        subject: Subject,
        exact: Subject | None = None,
        given: Exact | None = None,
        *,
        entries: bool = False,
        allowed: bool = False,
        accuracy: float = 0.0,
    ) -> None:
        """`exact` computes what `subject` should (None: `subject` itself). With `entries` every entry of a
        gradient is known, unless they are too many. Where it is `allowed`, the derivative of a function whose
        words stop its gradient is that with the stopped values held. An `accuracy` is granted beside
        rounding, as a share of the largest entry by the same input.
        """
        outputs = subject.values([i.value for i in subject.inputs])
        rest = subject.differentiable() if len(outputs) > 1 else subject
        if rest is not subject:
            subject, exact = rest, exact and exact.without(rest.unasked)
            outputs = subject.values([i.value for i in subject.inputs])
        if given is not None and given.function is not None and exact is not None:
            shapes = [
                [y.shape for y in ys] for ys in (outputs, exact.values([i.value for i in exact.inputs]))
            ]
            if shapes[0] != shapes[1]:
                what = (
                    f"reference= returns arrays of the shapes {shapes[1]}, and {subject.label} of {shapes[0]}"
                )
                raise UsageError(f"{what}; give the exact function in the same form")
        self._entries, self._allowed, self.accuracy = entries, allowed, accuracy
        self.subject = subject
        self.oracle = FunctionOracle(subject, exact)
        self.untraced = ""
        self.stopped = self.held = ""
        self._hidden = ""
        self._exact = exact or subject
        self._given_with = given
        self._gradient = given.gradient if given is not None else None
        self._evaluator = Evaluator(trip_limit=TRIP_LIMIT, accuracy=accuracy)
        if not any(is_float(y.dtype) for y in outputs):
            raise UsageError(f"{subject.label} returns no float, so there is nothing to differentiate")
        self._blank = stand_in(subject, outputs)
        self._dtypes = [y.dtype for y in outputs]  # a cotangent has the digits of its output
        self.program = self._traced(outputs)
        if self.program is not None:
            must_fit(self.program, subject.label)
        self.unsteady = self.program is None and self._gradient is None and not self._exact.is_steady()
        self._questions: Latest[Question] = Latest(8)
        self._known: dict[tuple[object, ...], NumericTruth] = {}
        self._wholes: dict[tuple[object, ...], Answer] = {}

    def by(self, way: AskedWay | None) -> Inquiry:
        """The same of the derivative that is asked in another way; what is known of the truth is shared."""
        if way is self.subject.way:
            return self
        subject = replace(self.subject, way=way)
        exact = None if self._exact is self.subject else self._exact
        own = {"subject": subject, "oracle": FunctionOracle(subject, exact), "_exact": exact or subject}
        shared = {name: value for name, value in vars(self).items() if name not in _OF_A_WAY}
        other = copy.copy(self)
        vars(other).clear()
        vars(other).update(shared | own | {"_wholes": {}})
        return other

    # The program

    def _traced(self, outputs: Sequence[Array]) -> Program | None:
        """The function as a program that computes the same; else None, with the reason in `untraced`."""
        if self._gradient is not None:
            self.untraced = "its gradient is given"
            return None
        self._unheld = None if self._exact is self.subject else self._exact
        program = self._recorded(outputs)
        if self._allowed and (program is None or self.stopped):
            held, words = self._exact.held(), self.stopped or self.untraced
            with contextlib.suppress(Exception):  # what it stops is not known then
                held.values([i.value for i in held.inputs])
                self._exact, self.stopped, self.held = held, "", words
                program = self._recorded(outputs)
            self.stopped = self.stopped or ("" if self.held else words)
            self.held = "" if self.stopped else words
        if program is None and not self.stopped:
            drawn = self._exact.by_quantiles()
            with contextlib.suppress(Exception):  # it makes no such draws, or it raises
                drawn.values([i.value for i in drawn.inputs])
                self._exact, self.accuracy = drawn, max(self.accuracy, drawn.framework.draws_to)
        return program

    def _recorded(self, outputs: Sequence[Array]) -> Program | None:
        self.untraced = self._hidden = ""
        self._local, self._unseen = "", False
        values, precision = self._exact.in_full(), self._exact.precision
        is_plain = all(x is i.value for x, i in zip(values, self._exact.inputs, strict=True))
        about = self._exact.call, values, None if is_plain else precision
        try:
            with self._exact.context() if is_plain else self._exact.context("float64"):
                program = self._of_what_it_computes(about)
            self._fits(program, outputs)
        except UntraceableError as error:
            self.untraced = (
                error.reason if error.detached else "; ".join(filter(None, (self._hidden, error.reason)))
            )
            return None
        except Exception as error:  # noqa: BLE001 - a function may do anything with values that record
            name = "" if isinstance(error, ImportError) else f"tracing it raises {type(error).__name__}: "
            self.untraced = name + first_line(error)
            return None
        return program

    def _of_what_it_computes(self, about: tuple[Any, Sequence[Array], Precision | None]) -> Program:
        """The program, also where a value is hidden from differentiation, which `stopped` notes."""
        try:
            return self._exact.framework.traced(*about)
        except UntraceableError as error:
            self._hidden = error.reason if error.detached else ""
            self.stopped = error.reason if error.stopped else ""
            self._local, self._unseen = error.local, error.unseen
            if error.program is None:
                raise
            program: Program = error.program
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
        if self._local and self.subject.precision != "float64":
            raise UntraceableError(self._local)
        points = [self._point(program, factor) for factor in factors]
        self._local = self._local or self._differs(program, points)
        if self._local and self._differs(program, [self._point(program), *self._beside(program)]):
            raise UntraceableError(self._local)
        self._unseen = (self._unseen or self.subject.grad is not None) and bool(self._local)

    def _differs(self, program: Program, points: Sequence[Point]) -> str:
        """How a program differs from the function at these points; "" where it does not."""
        question = plain_question(program, points, self.subject.precision, None, ())
        oracle = FunctionOracle(self._exact)
        answers = oracle.answer(question)
        # Sums of many numbers lose more, and how much is measured at the point alone.
        share = FORMATS[self.subject.precision].half_of_the_digits if is_large(question) else None
        computes = functools.partial(_computes, program, self.subject.precision, share=share)
        if all(map(computes, points, answers)):
            return ""
        wrong: list[str] = []
        for confirm in (False, True):  # the second reference only where the first disagrees
            cases = self._evaluator.cases(oracle.name, question, answers, confirm=confirm)
            wrong = [case.message for case in cases if case.verdict is Verdict.DISAGREE]
            if not wrong:
                return ""
        return f"the traced program computes something else: {wrong[0]}"

    def _beside(self, program: Program) -> list[Point]:
        """Points next to the arguments, to either side of them along two lines."""
        here, rng, points = self._point(program).inputs, np.random.default_rng(0), []
        for _ in range(2):
            floats = {n: x for n, x in here.items() if is_float(x.dtype)}
            moves = {n: _NEAR * sizes_of(x) * signs(x.shape, rng, "float64") for n, x in floats.items()}
            points += [
                Point({**here, **{n: here[n] + side * d for n, d in moves.items()}}) for side in (1, -1)
            ]
        return points

    def ends(self, factor: float, program: Program | None = None) -> bool:
        """Whether the program is the function's at the arguments times `factor`, and its loops end there.
        Where not, nobody asks the function.
        """
        program = program or self.program
        return program is None or (not self._local and self._ends_at(program, self._point(program, factor)))

    def _ends_at(self, program: Program, point: Point, trips: int = TRIP_LIMIT) -> bool:
        if any(isinstance(node, While) for node in walk(program)):
            with contextlib.suppress(GradfuzzError):
                try:
                    _values(program, self.subject.precision, point, trips)
                except TripLimitError:
                    return False
        return True

    def _ends_soon(self, inputs: Sequence[Array]) -> bool:
        """The same at other inputs, within a few times the iterations that the arguments take: where a fixed
        point is found slowly, rounding may let one library find it, and another one never.
        """
        if self.program is None:
            return True
        names = [p.name for p in self.program.params]
        return self._ends_at(self.program, Point(dict(zip(names, inputs, strict=True))), self._trips)

    @functools.cached_property
    def _trips(self) -> int:
        assert self.program is not None, "asked of a program"
        program, here = self.program, self._point(self.program)
        counts = (2**k for k in range(TRIP_LIMIT.bit_length()))
        return next((_TIMES * n for n in counts if self._ends_at(program, here, n)), TRIP_LIMIT)

    @property
    def iterates(self) -> bool:
        """Whether the function may be an approximation, as far as its program tells."""
        return self.program is None or any(isinstance(node, While) for node in walk(self.program))

    # Questions

    def _point(self, program: Program, factor: float = 1.0) -> Point:
        """The arguments, floats multiplied by `factor`. Scalar zeros are moved as well."""
        inputs = {}
        for param, i in zip(program.params, self.subject.inputs, strict=True):
            if i.kind != "float" or factor == 1.0:
                dtype = {"float": None, "int": "int64", "bool": "bool"}[i.kind]
                inputs[param.name] = np.asarray(i.value, dtype)
                continue
            with np.errstate(over="ignore", under="ignore"):
                moved = i.value * factor if np.any(i.value) else i.value + (factor - 1.0) / 2.0
                inputs[param.name] = np.asarray(moved, i.value.dtype)
        return Point(inputs)

    def _question(self, program: Program, modes: Sequence[Mode], factor: float) -> Question:
        def drawn() -> Question:
            about = program, [self._point(program, factor)], self.subject.precision, modes
            question = weighted_question(*about, seed_of(i.value for i in self.subject.inputs), in_full=True)
            pairs = zip(question.weights, self._dtypes, strict=True)
            weights = (None if w is None else np.asarray(w.astype(d), np.float64) for w, d in pairs)
            question = replace(question, weights=tuple(weights))
            return in_units(question, [program.params[k].name for k in self.subject.wrt])

        found = self._questions.get((id(program), len(modes), factor), drawn)
        return replace(found, modes=tuple(modes))

    # Asking

    def ask(self, modes: Sequence[Mode], factor: float = 1.0, entry: Entry | None = None) -> Asked:
        """The verdict in these modes at the arguments times `factor`; on one entry, given by the place of its
        input in `wrt` and its index, or on all.

        What is not right in the precision of the widest argument is judged in the narrowest one that the
        function computes in, where it is a program. Measured differences have its rounding in their bounds.
        """
        asked = self._beside_stops(modes, factor, entry)
        verdict, rest = asked.case.verdict, asked.case.unjudged
        is_open = verdict is Verdict.INCONCLUSIVE or bool(rest)
        is_wrong = verdict is Verdict.DISAGREE and self.program is not None
        is_of_form = asked.case.kind in (Class.WRONG_SHAPE, Class.WRONG_DTYPE)
        if is_of_form or not (is_open or is_wrong) or self._narrower is None:
            return asked
        other = self._narrower.ask(modes, factor, entry)
        return other if other.case.verdict in (Verdict.AGREE, Verdict.DISAGREE) else asked

    @functools.cached_property
    def _narrower(self) -> Inquiry | None:
        """The inquiry in the narrowest precision that the function computes in, if that is another one."""
        with contextlib.suppress(Exception):  # the function may raise
            subject = self.subject.narrower()
            if subject is None:
                return None
            exact = None if self._exact is self.subject else self._exact.narrower() or self._exact
            return self._about(subject, exact, self._given_with, allowed=self._allowed)
        return None

    def _beside_stops(self, modes: Sequence[Mode], factor: float, entry: Entry | None) -> Asked:
        """The verdict in one precision. Forward mode of Torch does not heed `no_grad`, by Torch's documents:
        what is hidden moves there.
        """
        asked = self._asked(modes, factor, entry)
        if is_of_numbers(asked.case) and self._documented is not None:
            other = self._documented.ask(modes, factor, entry).case
            if other.verdict is Verdict.AGREE:
                message = "right by the documents of the library, which leave a part out of the gradient"
                other = replace(other, verdict=Verdict.CONVENTION, message=message)
            return Asked(other, asked.method)
        if "no_grad" not in self.held or "fwd" not in modes or not is_of_numbers(asked.case):
            return asked
        if len(modes) == 1:
            return self._whole_derivative.ask(modes, factor, entry)
        why = "forward mode ignores no_grad, so the value is held in one step and moves in another"
        return Asked(asked.case.unsettled(Reason.REFERENCES, f"{self.held}: {why}"), asked.method)

    @functools.cached_property
    def _whole_derivative(self) -> Inquiry:
        """The inquiry in which nothing is allowed to be stopped."""
        return self._about(self.subject, self._unheld)

    @functools.cached_property
    def _documented(self) -> Inquiry | None:
        """The inquiry about what the library's documents leave of a gradient, if they leave out a part."""
        with contextlib.suppress(Exception):  # the function has no such part, or it raises
            exact = self._exact.by_documents()
            exact.values([i.value for i in exact.inputs])
            return self._about(self.subject, exact, allowed=self._allowed)
        return None

    def _asked(self, modes: Sequence[Mode], factor: float, entry: Entry | None) -> Asked:
        """The same by one truth."""
        if self.program is None:
            return self._by_numbers(modes, factor, entry)
        asked = self._by_program(self.program, modes, factor, entry)
        return replace(asked, case=self._where_hidden(asked.case))

    def _by_program(
        self, program: Program, modes: Sequence[Mode], factor: float, entry: Entry | None
    ) -> Asked:
        question = self._question(program, modes, factor)
        plain = replace(question, modes=()) if entry is None and not is_large(question) else None
        values = self._evaluator.reference_values(plain) if plain else []
        if any(value.truth.doubt is Doubt.DOMAIN for value in values):  # it selects between a number and NaN
            numbers = self._by_numbers(modes, factor)
            if numbers.case.verdict is not Verdict.INCONCLUSIVE:
                return numbers
        answers = LazyAnswers(self.oracle, question)
        if entry is None:
            case = check_answers(answers, self._evaluator, entries=self._entries)
        else:
            case = check_entry(answers, self._evaluator, entry)
        is_asked = _is_doubtful(case) or self.subject.is_narrow  # a narrow format allows much
        ruled = self._by_rule(case, question) if entry is None and is_asked else None
        if ruled is not None:
            settled = ruled.verdict is Verdict.AGREE or ruled.kind is Class.PRECISION or factor != 1.0
            return Asked(ruled, "traced") if settled else self._upheld(ruled, ruled=True)
        if case.verdict is Verdict.INCONCLUSIVE and case.reason in _SECOND_OPINION:
            numbers = self._of_two(case, self._by_numbers(modes, factor, entry))
            if not is_large(question) or numbers.case.verdict.is_wrong:
                return numbers
            # Along a direction rounding of so many entries hides one of them.
            if question.precision != "float64":
                return Asked(self._by_float64(case), "traced")
            (tolerance,) = self._evaluator.tolerances(question)
            return numbers if farthest(case, tolerance, CLEAR) is None else Asked(case, "traced")
        if self._unseen and is_of_numbers(case):
            return self._of_what_is_approached(case, self._by_numbers(modes, factor, entry))
        if case.verdict is Verdict.DISAGREE and factor == 1.0:
            return self._upheld(case, ruled=False)
        unsure = case.reason is Reason.NOISE or case.unjudged or question.precision in HALF
        if not (unsure or self.accuracy) and question.precision != "float64":
            unsure = strays(case, self._evaluator.tolerances(question)[0])
        return Asked(self._by_float64(case) if unsure else case, "traced")

    def _of_two(self, case: CheckResult, numbers: Asked) -> Asked:
        """What the function's own differences say where the program cannot be judged, or why it cannot."""
        other = numbers.case
        # At a kink that smooths itself out, and near the end of the range, a right rule may return another
        # number, but no NaN. A solver is full of both, as where nothing is left to do. An accuracy that is
        # granted is to be had in spite of them: an answer that errs around the point as well has it not.
        smooths = case.reason is Reason.KINK and other.kind is not Class.NON_FINITE
        unsure = case.reason is Reason.RANGE or smooths
        excused = unsure and other.verdict is Verdict.DISAGREE
        excused = excused and not (self.accuracy and self._errs_around(other))
        return Asked(case, "traced") if excused or other.verdict is Verdict.INCONCLUSIVE else numbers

    def _errs_around(self, case: CheckResult) -> bool:
        """Whether the answers around the point err as the one at it does, so that no kink makes the error."""
        entry = _worst_entry(case)
        if entry is None or case.got is None or case.expected is None:
            return False
        apart = apart_around(self.oracle, at_entry(case.question, entry), case.got)
        return apart <= abs(case.got - case.expected) / 2.0

    def _by_rule(self, case: CheckResult, question: Question) -> CheckResult | None:
        """The verdict where the library's own rule decides; None where it does not, or is not known."""
        from gradfuzz.fuzzer.measuring.own_rule import by_rule, own_rule  # balls take time to load

        is_own = self._exact is self.subject and self.subject.grad is None
        if self.accuracy or self._unseen or not is_own or entries_of(question) > _MEASURED:
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

    def _of_what_is_approached(self, case: CheckResult, numbers: Asked) -> Asked:
        """A disagreement with the steps of a loop that autograd does not see. A rule may be that of what the
        steps approach, and differences tell. Where they do not, only what is off by far is wrong.
        """
        if numbers.case.verdict is not Verdict.INCONCLUSIVE:
            return numbers
        if case.got is None or case.expected is None:
            return numbers
        is_far = not abs(case.got - case.expected) <= COARSE * abs(case.expected)
        return Asked(case, "traced") if is_far else numbers

    def _upheld(self, case: CheckResult, *, ruled: bool) -> Asked:
        """A disagreement that is no rounding of the answer's own, which is not asked where the library's rule
        decided, and that the function's differences by the worst entry do not contradict.
        """
        wide = None
        if not ruled and needs_float64(case, case.question, 0, self._evaluator):
            worst = _worst_entry(case) if is_large(case.question) else None
            wide = self._in_float64(case, worst)
            if worst is not None and wide is not None and wide.verdict is not Verdict.DISAGREE:
                wide = self._in_float64(case)  # another entry may be wrong there
            case = self._beside_float64(case, wide)
        entry, truth = _worst_entry(case), case.truth
        if case.verdict is not Verdict.DISAGREE or entry is None or truth is None:
            return Asked(case, "traced")
        if case.got is None or case.expected is None:
            return Asked(case, "traced")
        true, error = {ALONG: np.array([case.expected])}, case.got - case.expected
        known = ruled or (wide is not None and wide.worst == case.worst and _is_same(error, wide))
        steady = error if is_large(case.question) else None
        noise = {} if known else own_noise(self.oracle, at_entry(case.question, entry), true, steady)
        if noise and abs(case.got - case.expected) <= CLEAR * SAFETY * noise[ALONG][0]:
            message = (
                f"the answers at inputs that differ in their last bits are off by {noise[ALONG][0]:.2g} in"
                " either direction, so the error may be rounding"
            )
            return Asked(case.unsettled(Reason.NOISE, message), "traced")
        if case.question.order > 1 or is_large(case.question) or not all(map(self.ends, _REACH)):
            return Asked(case, "traced")  # differences may not end, or were asked already
        found = self._numeric(at_entry(self._question(self._blank, case.question.modes, 1.0), entry))
        if found.truth.status != "ok" or found.flat:
            return Asked(case, "traced")
        slope, bound = (float(numbers[ALONG][0]) for numbers in (found.truth.gradient, found.truth.bounds))
        (name, index) = case.question.wrt[entry[0]], entry[1]
        granted = 2.0 * bound + float(truth.bounds[name][index]) + float(case.allowed[name][index])
        if not abs(case.expected - slope) > granted:
            return Asked(case, "traced")
        asked = self._by_numbers(case.question.modes, 1.0)
        # A loop may approach a smooth function by steps, as bisection does: the program's slope is theirs.
        if asked.case.verdict is Verdict.DISAGREE or (self.iterates and asked.case.verdict is Verdict.AGREE):
            return asked
        why = (
            "the derivative of the function as it was traced and the one by differences contradict each other"
        )
        return Asked(case.unsettled(Reason.REFERENCES, why), "traced")

    def _numeric(self, question: Question) -> NumericTruth:
        """The measured or given truth, cached. Raises nothing but gradfuzz's own errors."""
        key = question_key(question)
        if key not in self._known:
            try:
                given = self._gradient is not None
                self._known[key] = self._given(question) if given else self._measured(question)
            except GradfuzzError:
                raise
            except Exception as error:  # noqa: BLE001 - a function may raise anything beside its arguments
                words = f"the function raises {type(error).__name__}: {first_line(error)}"
                self._known[key] = NumericTruth(Truth.unknown(Doubt.DOMAIN, words), "Richardson")
        return self._known[key]

    def _measured(self, question: Question) -> NumericTruth:
        return self._of_rounded(question) or numeric_truth(
            self._exact, question, self.accuracy, self._ends_soon
        )

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
            why = "the reference gives a gradient, and nothing is known of its derivative"
            return NumericTruth(Truth.unknown(Doubt.REFERENCES, why), "reference")
        stated = replace(self.subject, grad=self._gradient)
        given = (np.asarray(question.points[0].inputs[p.name]) for p in question.program.params)
        values = [v.astype(np.float64) if is_float(v.dtype) else v for v in given]

        def gradient(values: Sequence[Array]) -> list[Array]:
            found = stated.derivative(values, Wanted(question.weights), "float64")[1]
            for k, g in zip(stated.wrt, found, strict=True):
                name, shape = stated.inputs[k].name, stated.inputs[k].value.shape
                if g.shape != shape:
                    what = (
                        f"reference(gradient=) returns an array of shape {g.shape} for the gradient by {name}"
                    )
                    raise UsageError(f"{what}, which has the shape {shape}; return one of that shape")
            return [np.asarray(g, np.float64) for g in found]

        eps = FORMATS["float64"].eps
        near = [[v * (1.0 + k * eps) if is_float(v.dtype) else v for v in values] for k in (0, -1, 1)]
        there, *beside = map(gradient, near)
        bounds = [4.0 * eps * np.abs(g) + sum(np.abs(g - b[k]) for b in beside) for k, g in enumerate(there)]
        by_name = [dict(zip(question.wrt, arrays, strict=True)) for arrays in (there, bounds)]
        return NumericTruth(Truth("ok", gradient=by_name[0], bounds=by_name[1]), "reference")

    def _by_numbers(self, modes: Sequence[Mode], factor: float, entry: Entry | None = None) -> Asked:
        question = self._question(self._blank, modes, factor)
        asked = self._judged_by_numbers(LazyAnswers(self.oracle, question), entry)
        case = asked.case
        if asked.method != "reference":
            hidden = self._hidden and not self.stopped
            parts = self._by_parts(case, factor, entry) if hidden else None
            if parts is not None:
                return parts
            case = self._where_hidden(case)
        precision = case.question.precision
        if may_be_rounding(case) or (entry is None and (case.reason is Reason.NOISE or case.unjudged)):
            case = self._by_float64(case)
        elif asked.method != "reference" and case.verdict is Verdict.AGREE and precision in HALF:
            wide = self._by_float64(case)  # three digits along directions hide much
            case = wide if _is_off(wide, precision) else case
        return Asked(case, asked.method)

    def _by_parts(self, case: CheckResult, factor: float, entry: Entry | None) -> Asked | None:
        """What the function of the Hermitian parts of its Hermitian matrices says; None where it says
        nothing. Its derivative is the same whichever triangle is read, and in whichever a gradient stands.
        """
        if self._parts is None or not (is_of_numbers(case) or case.verdict is Verdict.INCONCLUSIVE):
            return None
        asked = self._parts.ask(case.question.modes, factor, entry)
        if asked.case.verdict is Verdict.AGREE and asked.method == "traced" and not asked.case.unjudged:
            if not (
                self._parts.subject.stands_in_triangles(
                    case.answer.gradient, case.question.wrt, _room(case.question.precision)
                )
                and self._answers_as(self._mirrored, case)
            ):
                return None
            message = f"{self.untraced}: the derivative by (x + x^H) / 2 is right"
            case = replace(case, verdict=Verdict.CONVENTION, kind=None, reason=None, message=message)
            return Asked(case, asked.method)
        if not is_of_numbers(asked.case) or (asked.method != "traced" and not self._parts.untraced):
            return None  # numbers alone do not see that eigenvectors have any phase
        if self._mirrored is not self.subject:
            return None
        message = "the derivative by the symmetric part (x + x^H) / 2 is wrong, whichever triangle is read"
        return Asked(replace(asked.case, message=message), asked.method)

    def _answers_as(self, mirrored: Subject, case: CheckResult) -> bool:
        """Whether the function has the same derivative at other inputs, up to the last bits."""
        if mirrored is self.subject:
            return True
        names = [p.name for p in case.question.program.params]
        there = Point(dict(zip(names, (i.value for i in mirrored.inputs), strict=True)))
        (answer,) = self.oracle.answer(replace(case.question, points=(there,)))
        own = case.answer.gradient
        return answer.status == "ok" and all(
            np.all(np.abs(own[n] - g) <= _room(case.question.precision) * np.max(np.abs(g), initial=0.0))
            for n, g in answer.gradient.items()
        )

    @functools.cached_property
    def _mirrored(self) -> Subject:
        """The subject at Hermitian matrices: its own, or such as it has the same values at."""
        values = self.subject.values([i.value for i in self.subject.inputs])
        for triangle in (np.tril, np.triu) if self.subject.of_hermitian_parts() is None else ():
            mirrored = self.subject.of_triangle(triangle)
            try:
                same = mirrored.values([i.value for i in mirrored.inputs])
            except Exception:  # noqa: BLE001, S112 - a function may raise anything at what it does not read
                continue
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
        return self._about(subject, exact, allowed=self._allowed)

    def _about(
        self, subject: Subject, exact: Subject | None, given: Exact | None = None, *, allowed: bool = False
    ) -> Inquiry:
        """An inquiry about another form of the subject, by the same measure."""
        how = {"entries": self._entries, "allowed": allowed}
        return Inquiry(subject, exact, given, **how, accuracy=self.accuracy)

    def _where_hidden(self, case: CheckResult) -> CheckResult:
        """The verdict where a value may be hidden from differentiation. The function's own words are no
        excuse. Where they are allowed, and what they hide could not be held, no number is called wrong. The
        library's own words say nothing of what is meant.
        """
        if self._hidden and not self.stopped and is_of_numbers(case) and not self._misses_a_root(case):
            why = "its gradient may be meant to differ from the derivative of what it computes"
            return case.unsettled(Reason.REFERENCES, f"{self._hidden}: {why}")
        if not self.stopped or not self._allowed or not is_of_numbers(case):
            return case
        why = "gradfuzz cannot hold that value constant, so the derivative that is meant is not known"
        return case.unsettled(Reason.REFERENCES, f"{self.stopped}: {why}")

    def _misses_a_root(self, case: CheckResult) -> bool:
        """Whether half of the digits of a number are wrong, where what is hidden are the steps to a root that
        is found to almost all digits: its derivative is that of the values.
        """
        if case.got is None or case.expected is None:
            return False
        left = FORMATS[case.question.precision].half_of_the_digits * abs(case.expected)
        with contextlib.suppress(Exception):  # a function may raise where it is not compiled
            return abs(case.got - case.expected) > left and self._exact.finds_roots()
        return False

    def _by_float64(self, case: CheckResult) -> CheckResult:
        """The case after a look at the same inputs in float64: wrong there, it is wrong. Right there, a wrong
        number here may be rounding, and what is within rounding here is right. The function is traced again:
        its constants have more digits there.

        It is not known otherwise what rounding does inside a function that is no program, or whether a
        library's rules for a long one stay in the range of a precision.
        """
        return self._beside_float64(case, self._in_float64(case))

    def _in_float64(self, case: CheckResult, entry: Entry | None = None) -> CheckResult | None:
        """The verdict at the same inputs in float64, on one entry or on all; None where there is none."""
        question = case.question
        if self._gradient is not None or question.precision == "float64":
            return None
        given = [question.points[0].inputs[p.name] for p in question.program.params]
        try:
            exact = None if self._exact is self.subject else _entering(self._exact, given, "float64")
            there = self._about(_entering(self.subject, given, "float64"), exact, allowed=self._allowed)
            if not there.subject.draws_alike(given, self.subject.precision):
                return None
            return there._beside_stops(question.modes, 1.0, entry).case  # noqa: SLF001 - of its own class
        except Exception:  # noqa: BLE001 - a function may take no float64
            return None

    def _beside_float64(self, case: CheckResult, wide: CheckResult | None) -> CheckResult:
        """The case, where the verdict in float64 is `wide`."""
        question = case.question
        if wide is None:
            return case
        if wide.verdict is Verdict.DISAGREE and wide.kind not in (Class.PRECISION, Class.WRONG_PRIMAL):
            return case if case.verdict is Verdict.DISAGREE else wide
        if wide.verdict is not Verdict.AGREE:
            return case
        if case.verdict is Verdict.DISAGREE:
            entry = _worst_entry(case)
            if entry is not None and _leaves_open(wide, entry):
                return case
            return self._decided_otherwise(case) or doubted(case)
        within = case.error_over_allowed is not None and case.error_over_allowed <= 1.0
        right = {} if case.truth is None else case.truth.gradient
        if self.program is not None and not right:
            right = self._evaluator.tolerances(question)[0].gradient
        if within and not wide.unjudged and _has_half_of_its_digits(case, right):
            return replace(case, verdict=Verdict.AGREE, reason=None, message="", unjudged={})
        return case

    def _decided_otherwise(self, case: CheckResult) -> CheckResult | None:
        """The case as right, if it is the derivative for other decisions that rounding leaves open."""
        if self.program is None or case.question.modes[-1] != "rev":
            return None
        question = case.question.plain
        (answer,) = self.oracle.answer(question)
        return self._evaluator.decided_otherwise(self.oracle.name, question, answer)

    def _judged_by_numbers(self, answers: LazyAnswers, entry: Entry | None) -> Asked:
        """The verdict by a truth that is no program's; along directions first where the entries are many."""
        question = answers.question
        methods: list[Method] = ["Richardson"]

        def judge(asked: Question) -> CheckResult:
            answer = answers.to(asked)
            if answer.status == "unsupported":
                about = self.oracle.name, asked, asked.points[0], None, answer
                return CheckResult(*about, Verdict.UNSUPPORTED, message=answer.message)
            truth = self._numeric(asked)
            methods.append(truth.method)
            if self.stopped:  # that nothing changes with an entry is what such words are for
                truth = replace(truth, flat=frozenset())
            case = judged_by_numbers(self.oracle, asked, answer, truth, self.accuracy)
            is_whole = asked.order == 1 and not isinstance(asked, ProbedQuestion)
            smooth = where_smooth(truth) if is_whole and case.verdict is Verdict.INCONCLUSIVE else None
            if smooth is not None:
                rest = judged_by_numbers(self.oracle, asked, answer, smooth, self.accuracy)
                case, truth = (rest, smooth) if rest.verdict is Verdict.DISAGREE else (case, truth)
            if not (is_whole and truth.method == "Richardson" and is_of_numbers(case)):
                return case
            if has_derivative(self._exact, asked, truth.truth, self._ends_soon):
                return case
            why = "the slope along a line is not the sum of those along the axes"
            return case.unsettled(Reason.KINK, f"there is no derivative: {why}")

        size, most = entries_of(question), _MEASURED if self._entries else FEW
        if self._gradient is None and entry is not None:
            case = of_entry(question, entry, judge)
        elif self._gradient is not None or size <= most:
            case = judge(question)
        else:
            probed = probed_by_size(question, self._whole(answers, in_full=size <= MANY))
            case, bounds = judge(probed), self._numeric(probed).truth.bounds.values()
            known = all(np.all(np.isfinite(bound)) for bound in bounds)
            if size <= _MEASURED and not (case.verdict is Verdict.AGREE and known):
                case = judge(question)
            else:
                case = located(case, judge, judge) if case.verdict is Verdict.DISAGREE else told(case)
        return Asked(case, methods[-1])

    def _whole(self, answers: LazyAnswers, *, in_full: bool) -> Answer | None:
        """An answer with every entry: that of reverse mode where it was asked before, since it takes less."""
        question = answers.question
        key = question_key(question)
        if question.modes[-1] == "rev":
            self._wholes[key] = answers.to(question)
        return self._wholes.get(key) or (answers.to(question) if in_full else None)

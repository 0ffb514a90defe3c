"""The truth about a function that cannot be traced: measured on the function itself, in float64 where it can
be, with a bound that may be wide.

Order one: the slope along each coordinate, or along a few random directions where there are many, by
Richardson's extrapolation (`differences`), which sees kinks as well. Where a function takes complex numbers
and is analytic, the complex step Im F(x + ih)/h (Squire and Trapp 1998) has no cancellation and replaces it:
it counts as analytic where two steps and the extrapolation all say the same, and where the function's code
keeps the imaginary part. Order two is one such slope of
the function's own first derivative, along the direction; this derivative is first seen to be right at the
point and on either side of it. Beyond that nothing is said.

What rounding may do to an answer is measured as well: by asking again at inputs that differ in their last
bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, Tolerance
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.fuzzer.verdict.along import noise_of, products, signs
from gradfuzz.fuzzer.verdict.judge import judge
from gradfuzz.oracles.base import ALONG, Answer, Array, Doubt, Point, ProbedQuestion, Question, Truth
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.programs.language.syntax import ArrayConst, Const, Expr, Param, Program, Return
from gradfuzz.programs.language.types import DType, Type
from gradfuzz.testing.measuring.differences import Slope, slope, speaks_for
from gradfuzz.testing.measuring.measured import Method
from gradfuzz.testing.measuring.oracle import FunctionOracle
from gradfuzz.testing.measuring.subject import Subject

_BANDS = 4
"""At most so many directions for entries of different weight in the answer ..."""

_BAND = 2.0**12
"""... each for those that are within this factor of one another."""

_LANES = 12
"""So many times an answer is asked again at inputs that differ in their last bits."""

TRUSTED = 1e-3
"""A truth whose bound is wider than this share of the largest entry judges nothing; where the values jump,
than this many times the share of the values that they jump by, up to _COARSE ...
"""

_JUMPS, _COARSE = 128.0, 0.1

_NATURAL = 1e-8
"""... unless it is this small beside the size of the values over that of the inputs: then the derivative is
known to be next to 0.
"""

_NEARER = 2.0**-8
"""A second derivative that is not known is measured again, so much closer to the point."""

_IMAGINARY = (1e-30, 1e-60)
"""The complex steps, in units of the input's size: far below rounding, and their products still numbers."""


def stand_in(subject: Subject, outputs: Sequence[Array]) -> Program:
    """A program with the inputs and outputs of a function that has none: what it returns says nothing."""
    params = tuple(Param(f"x{k}", Type(i.kind, i.value.shape)) for k, i in enumerate(subject.inputs))
    return Program("f", params, (Return(tuple(_nothing(np.asarray(y)) for y in outputs)),))


def _nothing(y: Array) -> Expr:
    dtype: DType = "float" if is_float(y.dtype) else "bool" if y.dtype.kind == "b" else "int"
    zero = Const({"float": 0.0, "int": 0, "bool": False}[dtype])
    return ArrayConst(dtype, y.shape, (zero,) * y.size) if y.shape else zero


@dataclass(frozen=True, slots=True, eq=False)
class NumericTruth:
    """A truth, and how it was found. `flat` are the entries (input, index) whose moves change no value: to be
    believed where the answer is 0 as well, or no number. `between` are the slopes between two jumps of the
    values, where they jump: the derivative of each piece of the code, and so no wrong answer.
    """

    truth: Truth
    method: Method
    flat: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
    between: Mapping[str, Array] = field(default_factory=dict)


class _Measured:
    """A function's values at and around a point, as one weighted sum."""

    def __init__(self, subject: Subject, question: Question, point: Point) -> None:
        self.subject = subject = subject.repeated()
        self.inputs = [np.asarray(point.inputs[p.name]) for p in question.program.params]
        self.weights = question.weights
        self.precision: Precision = "float64"
        try:
            values = subject.values(self.inputs, "float64")
            pairs = zip(values, self.weights, strict=True)
            in_full = all(y.dtype == np.float64 for y, w in pairs if w is not None)
        except Exception:  # noqa: BLE001 - a function that takes its own dtype only is measured in that
            in_full = False
        if not in_full:
            self.precision = subject.precision
            values = subject.values(self.inputs)
        self.values = values
        self.roundoff = unit_roundoff(self.precision)

    def weighted(self, values: Sequence[Array]) -> list[Array]:
        """The terms of the weighted sum."""
        pairs = zip(self.weights, values, strict=True)
        return [np.asarray(w * np.asarray(y, np.float64)) for w, y in pairs if w is not None]

    def at(self, inputs: Sequence[Array]) -> float:
        """The weighted sum; NaN where the function raises."""
        try:
            values = self.subject.values(inputs, self.precision)
        except Exception:  # noqa: BLE001 - beyond its domain a function may raise anything
            return math.nan
        total = [x for term in self.weighted(values) for x in term.ravel().tolist()]
        return math.fsum(total) if all(map(math.isfinite, total)) else math.nan

    def moved(self, direction: Direction, t: float) -> float:
        """The sum at t along a direction."""
        inputs = list(self.inputs)
        for k, d in direction.items():
            inputs[k] = np.asarray(inputs[k], np.float64 if self.precision == "float64" else None) + t * d
            inputs[k] = inputs[k].astype(self.inputs[k].dtype if self.precision != "float64" else np.float64)
        return self.at(inputs)

    def slope(self, direction: Direction, size: float) -> Slope | None:
        return self.slope_of(lambda t: self.moved(direction, t), size)

    def slope_of(self, f: Callable[[float], float], size: float) -> Slope | None:
        """The slope of `f` at 0, a function of the values, which is known to no more digits than the
        framework admits: a polynomial for float32 is smooth near 0, and its coefficients are rounded.
        """
        coarse = self.subject.framework.roundoff
        found = slope(f, size, self.roundoff)
        if found is None or found.flat or coarse <= self.roundoff:
            return found
        return replace(found, bound=max(found.bound, SAFETY * coarse * abs(found.value)))

    def complex_slope(self, direction: Direction, size: float) -> tuple[float, float] | None:
        """The slope by the complex step and its bound, from two steps; None where the function takes no
        complex numbers, or returns something of another form for them, or loses the imaginary part.
        """
        found = []
        for step in (size * h for h in _IMAGINARY):
            inputs = [np.array(x, np.complex128) if x.dtype.kind == "f" else x for x in self.inputs]
            for k, d in direction.items():
                inputs[k] = inputs[k] + 1j * step * d
            values = self.subject.complex_values(inputs)
            if values is None or [y.shape for y in values] != [y.shape for y in self.values]:
                return None
            terms = [float(np.sum(term)) for term in self.weighted([np.imag(y) for y in values])]
            found.append(math.fsum(terms) / step)
        if not all(map(math.isfinite, found)) or found[0] == 0.0:  # what is lost leaves 0
            return None
        roundoff = max(4.0 * self.roundoff, self.subject.framework.roundoff)
        return found[0], SAFETY * (abs(found[0] - found[1]) + roundoff * abs(found[0]))

    def is_infinite(self, direction: Direction) -> bool:
        """Whether a direction moves entries at infinity alone, as those that a mask hides: by moving them
        nothing changes, and the derivative is 0.
        """
        return all(np.all(np.isinf(self.inputs[k][d != 0.0])) for k, d in direction.items())

    def scale(self, size: float) -> float:
        """The slope that would be natural: the size of the values over that of the entry."""
        sizes = [float(np.sum(np.abs(term))) for term in self.weighted(self.values)]
        return sum(sizes) / size


Direction = Mapping[int, Array]
"""By the number of an input, how it moves."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """One number of a truth: where it stands, along which direction it is the slope, and the direction's
    scale.
    """

    name: str
    index: tuple[int, ...]
    direction: Direction
    size: float


def _all_asked(measured: _Measured, question: Question, wrt: Sequence[int]) -> Iterator[_Asked]:
    if isinstance(question, ProbedQuestion):
        for j, probe in enumerate(question.probes):
            yield _Asked(ALONG, (j,), {k: probe[n] for k, n in zip(wrt, question.wrt, strict=True)}, 1.0)
        return
    for name, k in zip(question.wrt, wrt, strict=True):
        for index in np.ndindex(np.shape(measured.inputs[k])):
            yield _Asked(name, index, {k: _unit(measured.inputs[k], index)}, _size(measured.inputs[k], index))


def _unit(x: Array, index: tuple[int, ...]) -> Array:
    found = np.zeros(np.shape(x))
    found[index] = 1.0
    return found


def _blank(question: Question) -> dict[str, Array]:
    """Zeros in the form of a gradient, or of its products."""
    if isinstance(question, ProbedQuestion):
        return {ALONG: np.zeros(len(question.probes))}
    return {name: np.zeros(np.shape(question.points[0].inputs[name])) for name in question.wrt}


def probed_by_size(question: Question, answer: Answer | None) -> ProbedQuestion:
    """The question along directions in which every input moves by its own size. Entries of very different
    weight in an answer, if it is known, have directions of their own.
    """
    sizes = {n: _sizes(np.asarray(question.points[0].inputs[n], np.float64)) for n in question.wrt}
    shares = {n: np.zeros(s.shape) for n, s in sizes.items()}
    for n, g in ({} if answer is None else answer.gradient).items():
        if n in sizes and np.shape(g) == sizes[n].shape:
            shares[n] = np.abs(np.asarray(g, np.float64)) * sizes[n]
    largest = max((float(np.max(s[np.isfinite(s)], initial=0.0)) for s in shares.values()), default=0.0)
    rng = np.random.default_rng(0)
    weights = {n: signs(np.shape(sizes[n]), rng, question.precision) * sizes[n] for n in question.wrt}
    probes: list[dict[str, Array]] = []
    for band in range(_BANDS):
        high, low = largest * _BAND**-band, largest * _BAND ** -(band + 1)
        inside = {
            n: ~(s <= low) & (~(s > high) | (band == 0)) if band + 1 < _BANDS else ~(s > high) & ~(s == 0.0)
            for n, s in shares.items()
        }
        probes.append({n: weights[n] * inside[n] for n in question.wrt})
    probes.append({n: weights[n] * (shares[n] == 0.0) for n in question.wrt})
    return ProbedQuestion.of(question, [p for p in probes if any(np.any(w) for w in p.values())])


def _sizes(x: Array) -> Array:
    """The scale of every entry, rounded to a power of two."""
    return np.asarray(np.exp2(np.floor(np.log2(_scales(x)))))


def _size(x: Array, index: tuple[int, ...]) -> float:
    """The scale of one entry."""
    return float(_scales(x)[index])


def _scales(x: Array) -> Array:
    """An entry's own size, or a share of the largest of its array, up to 1, or 1 among zeros. An infinite
    entry has no size of its own.
    """
    own = np.where(np.isfinite(x), np.abs(x), 0.0)
    scales = np.maximum(own, min(float(np.max(own, initial=0.0)) / 16.0, 1.0))
    return np.asarray(np.where(scales == 0.0, 1.0, scales))


def slope_by_entry(
    subject: Subject, question: Question, point: Point, position: int, index: tuple[int, ...]
) -> Slope | None:
    """The slope by one entry of the input numbered `position`; None where it cannot be told."""
    measured = _Measured(subject, question, point)
    x = measured.inputs[position]
    found = measured.slope({position: _unit(x, index)}, _size(x, index))
    return None if found is None or found.flat else found


def differences_speak_for(
    subject: Subject,
    question: Question,
    point: Point,
    position: int,
    index: tuple[int, ...],
    value: float,
    other: float,
) -> bool:
    """Whether a few differences by that entry say that the slope is `value` and not `other`."""
    measured = _Measured(subject, question, point)
    x = measured.inputs[position]
    if subject.framework.roundoff > measured.roundoff:
        return False
    along = {position: _unit(x, index)}
    return speaks_for(lambda t: measured.moved(along, t), _size(x, index), measured.roundoff, value, other)


def numeric_truth(subject: Subject, question: Question, point: Point) -> NumericTruth:
    """The derivative of `subject` that `question` asks for, measured. Raises what the function raises at the
    point.
    """
    names = [p.name for p in question.program.params]
    wrt = [names.index(name) for name in question.wrt]
    if question.order == 1:
        return _first(_Measured(subject, question, point), question, wrt)
    if question.order == 2:
        return _second(subject, question, point, wrt)
    return _unknown(f"derivatives of order {question.order} are not measured")


def _unknown(why: str) -> NumericTruth:
    return NumericTruth(Truth.unknown(Doubt.REFERENCES, why), "Richardson")


def _first(measured: _Measured, question: Question, wrt: Sequence[int]) -> NumericTruth:
    value, bound, left, right, scales, between = (_blank(question) for _ in range(6))
    exact, jump = True, 0.0
    flat: set[tuple[str, tuple[int, ...]]] = set()
    why = ""
    for asked in _all_asked(measured, question, wrt):
        name, index = asked.name, asked.index
        found = measured.slope(asked.direction, asked.size)
        if found is None:
            why = why or f"no difference in {name}{list(index) or ''} is finite"
            bound[name][index] = math.inf
            continue
        number, error = found.value, found.bound
        if not found.kink:
            better = _analytic(measured, asked, number, error)
            if found.flat and better is None and not measured.is_infinite(asked.direction):
                flat.add((name, index))
            exact = exact and better is not None
            number, error = better or (number, error)
        scales[name][index] = measured.scale(asked.size)
        jump = max(jump, found.jump)
        between[name][index] = number if found.between is None else found.between
        value[name][index], bound[name][index] = number, error
        left[name][index], right[name][index] = (found.left, found.right) if found.kink else (number, number)
    method: Method = "complex step" if exact else "Richardson"
    if any(np.any(np.isnan(v)) for v in value.values()):
        why = "the slopes to either side stay apart as the step shrinks"
        sides = {"left": left, "right": right, "side_bounds": bound}
        return NumericTruth(Truth.unknown(Doubt.KINK, why, **sides, kink=True), method)
    for name, v in value.items():
        largest = max(TRUSTED, min(_COARSE, _JUMPS * jump)) * float(np.max(np.abs(v), initial=0.0))
        bound[name][bound[name] > np.maximum(largest, _NATURAL * scales[name])] = math.inf
    if all(np.all(np.isinf(b)) for b in bound.values()) and any(map(np.size, bound.values())):
        return _unknown(why or "the differences of the function are too noisy to tell its derivative")
    pieces = between if jump else {}
    return NumericTruth(Truth("ok", gradient=value, bounds=bound), method, frozenset(flat), pieces)


def _analytic(measured: _Measured, asked: _Asked, value: float, bound: float) -> tuple[float, float] | None:
    """The complex step and its bound, where the extrapolation knows the slope well and says the same, and no
    better; what it is apart from that is in the bound.
    """
    if bound > max(TRUSTED * abs(value), _NATURAL * measured.scale(asked.size)):
        return None
    found = measured.complex_slope(asked.direction, asked.size)
    if found is None or found[1] > bound or abs(found[0] - value) > found[1] + bound:
        return None
    return found[0], found[1] + abs(found[0] - value)


def _second(subject: Subject, question: Question, point: Point, wrt: Sequence[int]) -> NumericTruth:
    """The slope of the first derivative along the direction."""
    first = replace(question, modes=("rev",), directions={})
    measured = _Measured(subject, first, point)
    directions = [np.asarray(question.directions[name], np.float64) for name in question.wrt]
    gradients = subject.gradients(question.weights, measured.precision)
    known: dict[float, dict[str, Array]] = {}
    xs = [measured.inputs[k] for k in wrt]

    def shifted(t: float) -> list[Array]:
        inputs = list(measured.inputs)
        for k, v in zip(wrt, directions, strict=True):
            inputs[k] = np.asarray(inputs[k], np.float64 if measured.precision == "float64" else None) + t * v
        return inputs

    def gradient(t: float) -> dict[str, Array]:
        if t not in known:
            try:
                found = gradients(shifted(t))
            except Exception:  # noqa: BLE001 - beyond its domain a function may raise anything
                found = [np.full(np.shape(x), np.nan) for x in xs]
            known[t] = products(question, dict(zip(question.wrt, found, strict=True)))
        return known[t]

    @functools.cache
    def doubt(t: float) -> str:
        """Why the first derivative is not known to be right at t along the direction."""
        if not all(np.all(np.isfinite(g)) for g in gradient(t).values()):
            return "the first derivative is not known around the point"
        inputs = dict(zip([p.name for p in question.program.params], shifted(t), strict=True))
        there = replace(first, precision=measured.precision, points=(Point(inputs),))
        here = numeric_truth(subject, there, there.points[0]).truth
        if here.status != "ok" or not all(np.all(np.isfinite(b)) for b in here.bounds.values()):
            return "the first derivative is not known around the point"
        if any(np.any(np.abs(g - here.gradient[n]) > 4.0 * here.bounds[n]) for n, g in gradient(t).items()):
            return (
                "the first derivative could not be shown to be right around the point, and the second is"
                " measured on it"
            )
        return ""

    sizes = [_size(x, index) for x in xs for index in np.ndindex(np.shape(x))]
    largest = max((float(np.max(np.abs(v), initial=0.0)) for v in directions), default=1.0)
    size = min(sizes, default=1.0) / largest
    is_coarse = subject.framework.roundoff > measured.roundoff

    def within(size: float) -> NumericTruth:
        why = doubt(0.0) or doubt(size / 4.0) or doubt(-size / 4.0)
        if why:
            return _unknown(why)
        values, bounds = _blank(question), _blank(question)
        flat: set[tuple[str, tuple[int, ...]]] = set()
        for name, numbers in values.items():
            for index in np.ndindex(np.shape(numbers)):

                def entry(t: float, name: str = name, index: tuple[int, ...] = index) -> float:
                    return float(gradient(t)[name][index])

                found = measured.slope_of(entry, size)
                if found is None or found.kink:
                    return _unknown("the first derivative has a kink here")
                values[name][index], bounds[name][index] = found.value, found.bound
                if found.value == 0.0 and is_coarse:  # its steps hide what moves
                    flat.add((name, index))
        return NumericTruth(Truth("ok", gradient=values, bounds=bounds), "Richardson", frozenset(flat))

    found = within(size)
    return found if found.truth.status == "ok" or doubt(0.0) else within(_NEARER * size)


def judged_by_numbers(
    oracle: FunctionOracle, question: Question, answer: Answer, found: NumericTruth
) -> CheckResult:
    """The verdict on an answer at the question's only point, by a truth that was measured or given.

    The program's value is not known otherwise than from the function: the answer's own, and its noise, stand
    for it.
    """
    truth = replace(
        found.truth,
        values=tuple(np.asarray(y, np.float64) for y in answer.values),
        value_bounds=_zeros(answer.values),
    )
    if answer.status == "error" and _has_value(oracle, question):
        about = oracle.name, question, question.points[0], truth, answer
        return CheckResult(*about, Verdict.CRASHED, kind=Class.ERROR, message=answer.message)
    if answer.status != "ok" or not _has_shapes(answer, question):
        return judge(oracle.name, question, 0, answer, truth, Tolerance(question.precision, noise={}))

    def within(strays: Mapping[str, Array]) -> CheckResult:
        own = Tolerance(
            question.precision,
            value_noise=_zeros(answer.values),
            gradient={n: np.where(np.isfinite(g), g, 0.0).astype(float) for n, g in answer.gradient.items()},
            noise=_normwise(question, answer),
        )
        noise = {name: np.maximum(n, strays.get(name, 0.0)) for name, n in noise_of(question, own).items()}
        tolerance = replace(own, noise=_widened(noise, truth))
        return judge(oracle.name, question, 0, answer, truth, tolerance)

    case = within({})
    if truth.status == "ok" and case.verdict is not Verdict.AGREE:  # else it is right with its noise, too
        case = within(own_noise(oracle, question, truth.gradient))
    if case.verdict is Verdict.AGREE and found.method == "Richardson" and _is_below_rounding(case):
        why = "the function's values do not move: the derivative is next to 0, and no more is known"
        return case.unsettled(Reason.REFERENCES, f"references: {why}")
    is_nan = case.got is not None and math.isnan(case.got)
    if case.verdict is Verdict.DISAGREE and case.worst in found.flat and not is_nan:
        rest = judged_by_numbers(oracle, question, answer, _without_flat(found))
        if rest.verdict is Verdict.DISAGREE:
            return rest
        why = "the function does not change with this entry, truly or because rounding hides it"
        return case.unsettled(Reason.REFERENCES, f"references: {why}")
    if case.verdict is Verdict.DISAGREE and _are_close(products(question, answer.gradient), found.between):
        why = "the function's values jump, and between two jumps its slope is the answer"
        return case.unsettled(Reason.REFERENCES, f"references: {why}")
    return case


def _without_flat(found: NumericTruth) -> NumericTruth:
    """The truth about the entries whose moves change a value."""
    bounds = {name: np.array(bound, np.float64) for name, bound in found.truth.bounds.items()}
    for name, index in found.flat:
        bounds[name][index] = math.inf
    return replace(found, truth=replace(found.truth, bounds=bounds), flat=frozenset())


def _has_value(oracle: FunctionOracle, question: Question) -> bool:
    """Whether the function itself raises nothing at the point."""
    (answer,) = oracle.answer(replace(question, modes=()))
    return answer.status == "ok"


def _is_below_rounding(case: CheckResult) -> bool:
    """Whether the answer is another number than 0, where the truth is 0 within its bound."""
    gradient = {} if case.truth is None else case.truth.gradient
    got = products(case.question, case.answer.gradient)
    return not any(map(np.any, gradient.values())) and any(np.any(got[name]) for name in gradient)


def _are_close(answer: Mapping[str, Array], between: Mapping[str, Array]) -> bool:
    """Whether the whole answer is the slope between two jumps."""
    pairs = [(np.asarray(answer[name], np.float64), slopes) for name, slopes in between.items()]
    return bool(pairs) and all(np.all(np.abs(g - s) <= TRUSTED * np.abs(s)) for g, s in pairs)


def _has_shapes(answer: Answer, question: Question) -> bool:
    """Whether every gradient by an input has its shape. A slope along a direction is by none."""
    (point,) = question.points
    whole = [name for name in question.wrt if name in answer.gradient]
    return all(np.shape(answer.gradient[name]) == np.shape(point.inputs[name]) for name in whole)


def _normwise(question: Question, answer: Answer) -> dict[str, Array]:
    """Two roundings of the largest entry of the gradient, and at least the smallest normal number, below
    which a float has fewer digits or none.

    Of a function that is no program it is not known how an entry is summed up. A linear one, as a Fourier
    transform, has the same gradient at inputs that differ in their last bits, and its rounding errors are
    small beside the largest entry only (N. Higham, Accuracy and Stability of Numerical Algorithms, 24.1).
    """
    unit = unit_roundoff(question.precision)
    found = {}
    for name, g in answer.gradient.items():
        entries = np.abs(np.asarray(g, np.float64))
        largest = float(np.max(entries[np.isfinite(entries)], initial=0.0))
        found[name] = np.full(entries.shape, max(2.0 * unit * largest, FORMATS[question.precision].normal))
    return found


def _zeros(values: Sequence[Array]) -> tuple[Array, ...]:
    return tuple(np.zeros(np.shape(y)) for y in values)


def own_noise(oracle: FunctionOracle, question: Question, true: Mapping[str, Array]) -> dict[str, Array]:
    """By how much answers next to the point err to either side of the derivative at the point.

    The inputs of those answers differ in their last bits, each input that is not 0. Rounding errs to both
    sides. A rule that is wrong at the point and right around it errs to neither, and one that is wrong on one
    side of the point errs to one.
    """
    (point,) = question.points
    rng = np.random.default_rng(0)
    above = {name: np.zeros(np.shape(g)) for name, g in true.items()}
    below = {name: np.zeros(np.shape(g)) for name, g in true.items()}
    unit = 2.0 * unit_roundoff(question.precision)
    for _ in range(_LANES):
        inputs = {}
        for param in question.program.params:
            x = np.asarray(point.inputs[param.name])
            inputs[param.name] = x
            if param.type.is_float:
                moved = np.asarray(x, np.float64) * (1.0 + unit * rng.choice(_LAST_BITS, x.shape))
                inputs[param.name] = np.asarray(moved, x.dtype)
        (other,) = oracle.answer(replace(question, points=(Point(inputs),)))
        if other.status != "ok" or not _has_shapes(other, question):
            continue
        for name, g in products(question, other.gradient).items():
            with np.errstate(invalid="ignore"):
                error = g - true[name]
            error = np.where(np.isfinite(error), error, 0.0)
            above[name], below[name] = np.maximum(above[name], error), np.maximum(below[name], -error)
    return {name: np.minimum(above[name], below[name]) for name in true}


_LAST_BITS = np.array([-4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0])


def _widened(noise: Mapping[str, Array], truth: Truth) -> dict[str, Array]:
    """The noise, at least as wide as the truth's bound, which is narrow enough to judge by or there would be
    no truth.
    """
    bounds = {name: truth.bounds.get(name, np.zeros(found.shape)) for name, found in noise.items()}
    return {
        name: np.maximum(found, bounds[name] / SAFETY) if bounds[name].shape == found.shape else found
        for name, found in noise.items()
    }

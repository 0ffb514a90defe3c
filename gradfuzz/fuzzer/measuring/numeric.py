"""The truth about a function that cannot be traced: measured on the function itself, in float64 where it can
be, with a bound that may be wide.

Order one: the slope along each coordinate, or along a few random directions where there are many, by
Richardson's extrapolation (`differences`), which sees kinks as well. Where a function takes complex numbers
and is analytic, the complex step Im F(x + ih)/h (Squire and Trapp 1998) has no cancellation and replaces it:
it counts as analytic where the extrapolation says the same, and where the function's code keeps the
imaginary part. Order two is one such slope of the function's own first derivative, along the direction; this
derivative is first seen to be right at the point and on either side of it. Beyond that nothing is said.

What rounding may do to an answer is measured as well: by asking again at inputs that differ in their last
bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gradfuzz.fuzzer.measuring.measured import Method
from gradfuzz.fuzzer.measuring.oracle import FunctionOracle
from gradfuzz.fuzzer.measuring.subject import Subject
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, Tolerance
from gradfuzz.fuzzer.tolerance.differences import BETWEEN, COARSE, TRUSTED, Slope, jump_share, slope
from gradfuzz.fuzzer.verdict.along import noise_of, products, signs
from gradfuzz.fuzzer.verdict.judge import judge
from gradfuzz.fuzzer.verdict.rounding import points_beside
from gradfuzz.oracles.base import ALONG, Answer, Array, Doubt, Point, ProbedQuestion, Question, Truth
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import ArrayConst, Const, Expr, Param, Return
from gradfuzz.programs.language.types import DType, Type

_BANDS = 4
"""At most so many directions for entries of different weight in the answer ..."""

_BAND = 12
"""... each for those that are within two to this power of one another."""

_ALIKE = 6
"""So many of those are enough where they err alike, ..."""

STEADY = 2.0**-6
"""... up to this share."""

_LANES = 12
"""So many times an answer is asked again at inputs that differ in their last bits."""

_JUMPS = 128.0
"""Where the values jump, a bound may be this many times as wide as the share of the values that they jump by,
up to `COARSE`: of the largest entry.
"""

_IMAGINARY = 1e-30
"""The complex step, in units of the input's size: far below rounding, and its products still numbers."""

_NEARER = 2.0**-8
"""A second derivative that is not known is measured again, so much closer to the point."""


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
    values, where they jump: the derivative of each piece of the code, and so no wrong answer; `room` is what
    rounding does to those.
    """

    truth: Truth
    method: Method
    flat: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
    between: Mapping[str, Array] = field(default_factory=dict)
    room: Mapping[str, Array] = field(default_factory=dict)
    still: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
    """The entries that move no value at all, so that no accuracy is granted by them."""


Ends = Callable[[Sequence[Array]], bool]
"""Whether the loops of a function end at these inputs."""


def _always(_: Sequence[Array]) -> bool:
    return True


class _Measured:
    """A function's values at and around a point, as one weighted sum."""

    def __init__(self, subject: Subject, question: Question, ends: Ends) -> None:
        self.ends = ends
        self.subject = subject = subject.repeated()
        given = question.points[0].inputs
        self.inputs = [np.asarray(given[p.name]) for p in question.program.params]
        self.weights = question.weights
        self.precision: Precision = "float64"
        try:
            values = subject.values(self.inputs, "float64")
            pairs = zip(values, self.weights, strict=True)
            in_full = all(y.dtype == np.float64 for y, w in pairs if w is not None)
            in_full = in_full and subject.draws_alike(self.inputs, "float64")
        except Exception:  # noqa: BLE001 - a function that takes its own dtype only is measured in that
            in_full = False
        if not in_full:
            self.precision = subject.precision
            values = subject.values(self.inputs)
        self.values = values
        self.roundoff = FORMATS[self.precision].roundoff

    def weighted(self, values: Sequence[Array]) -> list[Array]:
        """The terms of the weighted sum."""
        pairs = zip(self.weights, values, strict=True)
        return [np.asarray(w * np.asarray(y, np.float64)) for w, y in pairs if w is not None]

    def at(self, direction: Direction, t: float) -> float:
        """The weighted sum at t along a direction; NaN where the function raises, or does not end."""
        moved = self.moved(direction, t)
        if not self.ends(moved):
            return math.nan
        try:
            values = self.subject.values(moved, self.precision)
        except Exception:  # noqa: BLE001 - beyond its domain a function may raise anything
            return math.nan
        total = [x for term in self.weighted(values) for x in term.ravel().tolist()]
        return math.fsum(total) if all(map(math.isfinite, total)) else math.nan

    def moved(self, direction: Direction, t: float) -> list[Array]:
        """The inputs at t along a direction."""
        inputs = list(self.inputs)
        for k, d in direction.items():
            inputs[k] = (inputs[k] + t * d).astype(self.subject.dtype_of(k, self.precision))
        return inputs

    def size(self, direction: Direction) -> float:
        """How far along a direction the first of its entries has moved by its own scale."""
        there = ((self.inputs[k], d != 0.0, d) for k, d in direction.items())
        sizes = [sizes_of(np.asarray(x, np.float64))[moves] / np.abs(d[moves]) for x, moves, d in there]
        return min((float(np.min(one)) for one in sizes if one.size), default=1.0)

    def slope(self, f: Callable[[float], float], size: float, hidden: Callable[[], float]) -> Slope | None:
        """The slope of `f` at 0, a function of the values, which is known to no more digits than the
        framework admits: a polynomial for float32 is smooth near 0, and its coefficients are rounded.
        """
        coarse = self.subject.framework.roundoff
        found = slope(f, size, self.roundoff, hidden)
        if found is None or found.flat or coarse <= self.roundoff:
            return found
        return replace(found, bound=max(found.bound, SAFETY * coarse * abs(found.value)))

    @functools.cached_property
    def hidden(self) -> float:
        """The share of itself that the weighted sum jumps by where all inputs move."""
        rng = np.random.default_rng(0)
        floats = ((k, x) for k, x in enumerate(self.inputs) if x.dtype.kind == "f" and x.size)
        everything = {k: signs(x.shape, rng, self.precision) for k, x in floats}
        return jump_share(functools.partial(self.at, everything), self.size(everything), self.roundoff)

    def analytic(self, direction: Direction, size: float, known: Slope) -> tuple[float, float] | None:
        """The slope by the complex step and its bound, where the extrapolation knows the slope well and says
        the same, and no better; what it is apart from that is in the bound. None where the function takes no
        complex numbers, or returns something of another form for them, or loses the imaginary part.
        """
        if known.bound > max(TRUSTED * abs(known.value), self.next_to_0(size)):
            return None
        inputs = [np.array(x, np.complex128) if x.dtype.kind == "f" else x for x in self.inputs]
        for k, d in direction.items():
            inputs[k] = inputs[k] + 1j * _IMAGINARY * size * d
        values = self.subject.complex_values(inputs)
        if values is None or [y.shape for y in values] != [y.shape for y in self.values]:
            return None
        terms = [float(np.sum(term)) for term in self.weighted([np.imag(y) for y in values])]
        found = sum(terms) / (_IMAGINARY * size)
        bound = SAFETY * max(4.0 * self.roundoff, self.subject.framework.roundoff) * abs(found)
        apart = abs(found - known.value)
        confirmed = found != 0.0 and bound <= known.bound and apart <= bound + known.bound
        return (found, bound + apart) if confirmed else None

    def is_infinite(self, direction: Direction) -> bool:
        """Whether a direction moves entries at infinity alone, as those that a mask hides: by moving them
        nothing changes, and the derivative is 0.
        """
        return all(np.all(np.isinf(self.inputs[k][d != 0.0])) for k, d in direction.items())

    def next_to_0(self, size: float) -> float:
        """What is next to 0 of a slope: half of the digits of the values by the entry's size."""
        return FORMATS["float64"].half_of_the_digits * self.total / size

    @functools.cached_property
    def total(self) -> float:
        """The sizes of all terms of the weighted sum."""
        return sum(float(np.sum(np.abs(term))) for term in self.weighted(self.values))


Direction = Mapping[int, Array]
"""By the number of an input, how it moves."""


def _directions(
    measured: _Measured, question: Question, wrt: Sequence[int]
) -> Iterator[tuple[str, tuple[int, ...], Direction]]:
    """Where each number of a truth stands, and along which direction it is the slope."""
    if isinstance(question, ProbedQuestion):
        for j, probe in enumerate(question.probes):
            yield ALONG, (j,), {k: probe[n] for k, n in zip(wrt, question.wrt, strict=True)}
        return
    for name, k in zip(question.wrt, wrt, strict=True):
        for index in np.ndindex(np.shape(measured.inputs[k])):
            unit = np.zeros(np.shape(measured.inputs[k]))
            unit[index] = 1.0
            yield name, index, {k: unit}


def _blank(question: Question) -> dict[str, Array]:
    """Zeros in the form of a gradient, or of its products."""
    if isinstance(question, ProbedQuestion):
        return {ALONG: np.zeros(len(question.probes))}
    return {name: np.zeros(np.shape(question.points[0].inputs[name])) for name in question.wrt}


def probed_by_size(question: Question, answer: Answer | None) -> ProbedQuestion:
    """The question along directions in which every input moves by its own size. Entries of very different
    weight in an answer, if it is known, have directions of their own.
    """
    scales = {n: sizes_of(np.asarray(question.points[0].inputs[n], np.float64)) for n in question.wrt}
    sizes = {n: np.asarray(np.exp2(np.floor(np.log2(s)))) for n, s in scales.items()}
    shares = {n: np.zeros(s.shape) for n, s in sizes.items()}
    for n, g in ({} if answer is None else answer.gradient).items():
        if n in sizes and np.shape(g) == sizes[n].shape:
            shares[n] = np.abs(np.asarray(g, np.float64)) * sizes[n]
    largest = max((float(np.max(s[np.isfinite(s)], initial=0.0)) for s in shares.values()), default=0.0)
    rng = np.random.default_rng(0)
    weights = {n: signs(np.shape(sizes[n]), rng, question.precision) * sizes[n] for n in question.wrt}
    bands = {n: np.full(s.shape, _BANDS) for n, s in shares.items()}
    for n, s in shares.items():
        moves = s != 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = np.nan_to_num(np.log2(largest / s[moves]) // _BAND)
        bands[n][moves] = np.clip(steps, 0, _BANDS - 1)
    probes = [{n: weights[n] * (bands[n] == band) for n in question.wrt} for band in range(_BANDS + 1)]
    return ProbedQuestion.of(question, [p for p in probes if any(np.any(w) for w in p.values())])


def sizes_of(x: Array) -> Array:
    """An entry's own size, or a share of the largest of its array, up to 1, or 1 among zeros. An infinite
    entry has no size of its own.
    """
    own = np.where(np.isfinite(x), np.abs(x), 0.0)
    scales = np.maximum(own, min(float(np.max(own, initial=0.0)) / 16.0, 1.0))
    return np.asarray(np.where(scales == 0.0, 1.0, scales))


def numeric_truth(
    subject: Subject, question: Question, accuracy: float = 0.0, ends: Ends = _always
) -> NumericTruth:
    """The derivative of `subject` that `question` asks for, measured at its point. Raises what the function
    raises there. A first derivative that is known to an `accuracy` is right for a second one.
    """
    names = [p.name for p in question.program.params]
    wrt = [names.index(name) for name in question.wrt]
    if question.order == 1:
        return _first(_Measured(subject, question, ends), question, wrt)
    if question.order == 2:
        return _second(subject, question, wrt, accuracy, ends)
    return _unknown(f"derivatives of order {question.order} are not measured")


def _unknown(why: str) -> NumericTruth:
    return NumericTruth(Truth.unknown(Doubt.REFERENCES, why), "Richardson")


def has_derivative(subject: Subject, question: Question, truth: Truth, ends: Ends = _always) -> bool:
    """Whether the slope along a line is what the slopes along the axes make of it. Of a median whose equal
    entries move one by one, and one by one change nothing, it is not: there is no derivative.
    """
    measured = _Measured(subject, question, ends)
    names, rng = [p.name for p in question.program.params], np.random.default_rng(0)
    sizes = {names.index(n): sizes_of(np.asarray(question.points[0].inputs[n])) for n in question.wrt}
    line = {k: signs(size.shape, rng, measured.precision) * size for k, size in sizes.items()}
    for name, bound in truth.bounds.items():
        line[names.index(name)] *= bound < _WIDEST
    found = measured.slope(functools.partial(measured.at, line), measured.size(line), lambda: measured.hidden)
    if found is None or found.kink:
        return found is None
    parts = [(line[names.index(name)], g, truth.bounds[name]) for name, g in truth.gradient.items()]
    along = sum(float(np.sum(d * g)) for d, g, _ in parts)
    off = found.bound + sum(float(np.sum(np.abs(d[d != 0.0]) * b[d != 0.0])) for d, _, b in parts)
    return not abs(found.value - along) > 2.0 * off + TRUSTED * max(abs(found.value), abs(along))


def _first(measured: _Measured, question: Question, wrt: Sequence[int]) -> NumericTruth:
    value, bound, left, right, natural, between, room = (_blank(question) for _ in range(7))
    exact, jump = True, 0.0
    flat: set[tuple[str, tuple[int, ...]]] = set()
    still: set[tuple[str, tuple[int, ...]]] = set()
    why = ""
    for name, index, direction in _directions(measured, question, wrt):
        size = measured.size(direction)
        found = measured.slope(functools.partial(measured.at, direction), size, lambda: measured.hidden)
        if found is None:
            why = why or f"the function is not finite where {name}{list(index) or ''} moves a little"
            bound[name][index] = math.inf
            continue
        number, error = found.value, found.bound
        if not found.kink:
            better = measured.analytic(direction, size, found)
            if found.flat and better is None and not measured.is_infinite(direction):
                flat.add((name, index))
            exact = exact and better is not None
            number, error = better or (number, error)
        if number == 0.0 and measured.at(direction, size) == measured.at(direction, 0.0):
            still.add((name, index))
        natural[name][index] = measured.next_to_0(size)
        jump = max(jump, found.jump)
        between[name][index] = number if found.between is None else found.between
        room[name][index] = SAFETY * measured.roundoff * measured.total / (BETWEEN * size)
        value[name][index], bound[name][index] = number, error
        left[name][index], right[name][index] = (found.left, found.right) if found.kink else (number, number)
    method: Method = "complex step" if exact else "Richardson"
    if any(np.any(np.isnan(v)) for v in value.values()):
        why = "the slopes to the left and to the right stay different, however small the step"
        sides = {"left": left, "right": right, "side_bounds": bound}
        return NumericTruth(Truth.unknown(Doubt.KINK, why, **sides, kink=True), method)
    for name, v in value.items():
        largest = max(TRUSTED, min(COARSE, _JUMPS * jump)) * float(np.max(np.abs(v), initial=0.0))
        bound[name][bound[name] > np.maximum(largest, natural[name])] = math.inf
    if all(np.all(np.isinf(b)) for b in bound.values()) and any(map(np.size, bound.values())):
        return _unknown(why or "the differences of the function are too noisy to tell its derivative")
    pieces = between if jump else {}
    truth = Truth("ok", gradient=value, bounds=bound)
    return NumericTruth(truth, method, frozenset(flat), pieces, room, frozenset(still))


def _second(
    subject: Subject, question: Question, wrt: Sequence[int], accuracy: float, ends: Ends
) -> NumericTruth:
    """The slope of the first derivative along the direction."""
    first = replace(question, modes=("rev",), directions={})
    measured = _Measured(subject, first, ends)
    along = (np.asarray(question.directions[name], np.float64) for name in question.wrt)
    direction = dict(zip(wrt, along, strict=True))
    gradients = subject.gradients(question.weights, measured.precision)

    @functools.cache
    def gradient(t: float) -> dict[str, Array]:
        moved = measured.moved(direction, t)
        nothing = [np.full(np.shape(d), np.nan) for d in direction.values()]
        try:
            slopes = gradients(moved) if ends(moved) else nothing
        except Exception:  # noqa: BLE001 - beyond its domain a function may raise anything
            slopes = nothing
        return products(question, dict(zip(question.wrt, slopes, strict=True)))

    @functools.cache
    def doubt(t: float) -> str:
        """Why the first derivative is not known to be right at t along the direction."""
        if not all(np.all(np.isfinite(g)) for g in gradient(t).values()):
            return "is not known around the point"
        pairs = zip(question.program.params, measured.moved(direction, t), strict=True)
        point = Point({p.name: x for p, x in pairs})
        there = replace(first, precision=measured.precision, points=(point,))
        here = numeric_truth(subject, there, ends=ends).truth
        if here.status != "ok" or not all(np.all(np.isfinite(b)) for b in here.bounds.values()):
            return "is not known around the point"
        sizes = {n: accuracy * np.max(np.abs(g), initial=0.0) for n, g in here.gradient.items()}
        room = {n: 4.0 * bound + sizes[n] for n, bound in here.bounds.items()}
        if any(np.any(np.abs(g - here.gradient[n]) > room[n]) for n, g in gradient(t).items()):
            return "could not be shown to be right around the point"
        return ""

    def total(t: float) -> float:
        return float(sum(np.sum(g) for g in gradient(t).values()))

    @functools.cache
    def hidden() -> float:
        return jump_share(total, measured.size(direction), measured.roundoff)

    is_coarse = subject.framework.roundoff > measured.roundoff

    def within(size: float) -> NumericTruth:
        why = doubt(0.0) or doubt(size / 4.0) or doubt(-size / 4.0)
        if why:
            return _unknown(f"the second derivative is measured from the first one, which {why}")
        values, bounds = _blank(question), _blank(question)
        flat: set[tuple[str, tuple[int, ...]]] = set()
        for name, numbers in values.items():
            for index in np.ndindex(np.shape(numbers)):

                def entry(t: float, name: str = name, index: tuple[int, ...] = index) -> float:
                    return float(gradient(t)[name][index])

                found = measured.slope(entry, size, hidden)
                if found is None or found.kink:
                    return _unknown("the first derivative has a kink here")
                values[name][index], bounds[name][index] = found.value, found.bound
                if found.value == 0.0 and is_coarse:  # its steps hide what moves
                    flat.add((name, index))
        return NumericTruth(Truth("ok", gradient=values, bounds=bounds), "Richardson", frozenset(flat))

    size = measured.size(direction)
    found = within(size)
    return found if found.truth.status == "ok" or doubt(0.0) else within(_NEARER * size)


def judged_by_numbers(
    oracle: FunctionOracle,
    question: Question,
    answer: Answer,
    found: NumericTruth,
    accuracy: float = 0.0,
) -> CheckResult:
    """The verdict on an answer at the question's only point, by a truth that was measured or given. An
    `accuracy` is granted beside rounding, as a share of the answer's largest entry by the same input: where
    that is too large, it is wrong itself.

    The program's value is not known otherwise than from the function: the answer's own, and its noise, stand
    for it.
    """
    zeros = tuple(np.zeros(np.shape(y)) for y in answer.values)
    values = tuple(np.asarray(y, np.float64) for y in answer.values)
    truth = replace(found.truth, values=values, value_bounds=zeros)
    if answer.status == "error" and oracle.answer(replace(question, modes=()))[0].status == "ok":
        about = oracle.name, question, question.points[0], truth, answer
        return CheckResult(*about, Verdict.CRASHED, kind=Class.ERROR, message=answer.message)
    own = Tolerance(question.precision, value_noise=zeros, noise={})
    if answer.status != "ok" or not _has_shapes(answer, question):
        return judge(oracle.name, question, 0, answer, truth, own)
    got = {name: np.asarray(g, np.float64) for name, g in answer.gradient.items()}
    finite = {name: np.where(np.isfinite(g), g, 0.0) for name, g in got.items()}
    own = replace(own, gradient=finite, noise=_normwise(question.precision, got))
    rounded = noise_of(question, own)
    sums = noise_of(question, replace(own, noise=_normwise(question.precision, got, accuracy)))
    granted = {name: np.array(n) for name, n in sums.items()}
    for name, g in truth.gradient.items():  # what is 0 without doubt is granted nothing
        granted[name] = np.where((g == 0.0) & (truth.bounds[name] == 0.0), rounded[name], granted[name])
    for name, index in found.still:
        granted[name][index] = rounded[name][index]

    def within(strays: Mapping[str, Array]) -> CheckResult:
        noise = {name: np.maximum(n, strays.get(name, 0.0)) for name, n in granted.items()}
        if truth.status == "ok":  # its bound is narrow enough to judge by, or there would be none
            noise = {name: np.maximum(n, truth.bounds[name] / SAFETY) for name, n in noise.items()}
        return judge(oracle.name, question, 0, answer, truth, replace(own, noise=noise))

    case = within({})
    if truth.status == "ok" and case.verdict is not Verdict.AGREE:  # else it is right with its noise, too
        case = within(own_noise(oracle, question, truth.gradient))
    slopes, known = products(question, answer.gradient), truth.gradient.values()
    is_next_to_0 = not any(map(np.any, known)) and any(map(np.any, slopes.values()))
    if case.verdict is Verdict.AGREE and found.method == "Richardson" and is_next_to_0:
        why = (
            "the function's values do not change where the arguments move a little, so that the derivative is"
            " 0 or too small to measure"
        )
        return case.unsettled(Reason.REFERENCES, why)
    if case.verdict is not Verdict.DISAGREE:
        return case
    if case.worst in found.flat and case.got is not None and not math.isnan(case.got):
        rest = judged_by_numbers(oracle, question, answer, _without_flat(found), accuracy)
        if rest.verdict is Verdict.DISAGREE:
            return rest
        why = "no value of the function changes with this entry: its slope is 0, or rounding hides it"
        return case.unsettled(Reason.REFERENCES, why)
    pieces = found.between.items()
    jumps = pieces and not accuracy  # of an approximation the accuracy says what its jumps may do
    room = {n: np.minimum(TRUSTED * np.abs(s), found.room[n]) for n, s in pieces}
    if jumps and all(np.all(np.abs(slopes[name] - s) <= room[name]) for name, s in pieces):
        why = "the function's values jump, and the answer is the slope between two jumps"
        return case.unsettled(Reason.REFERENCES, why)
    return case


_WIDEST = 2.0**1000
"""The bound of an entry about which nothing is known: finite, also where several are added up."""


def where_smooth(found: NumericTruth) -> NumericTruth | None:
    """The truth about the entries without a kink, where others have one; None where there are no such."""
    left, right, bounds = found.truth.left, found.truth.right, found.truth.side_bounds
    if left is None or right is None or bounds is None:
        return None
    is_smooth = {name: np.isfinite(slope) & (slope == right[name]) for name, slope in left.items()}
    if not any(map(np.any, is_smooth.values())):
        return None
    gradient = {name: np.where(smooth, left[name], 0.0) for name, smooth in is_smooth.items()}
    # A kink is no infinity, which would make NaN by other entries legal.
    wide = {name: np.where(smooth, bounds[name], _WIDEST) for name, smooth in is_smooth.items()}
    return replace(found, truth=Truth("ok", gradient=gradient, bounds=wide))


def _without_flat(found: NumericTruth) -> NumericTruth:
    """The truth about the entries whose moves change a value."""
    bounds = {name: np.array(bound, np.float64) for name, bound in found.truth.bounds.items()}
    for name, index in found.flat:
        bounds[name][index] = math.inf
    return replace(found, truth=replace(found.truth, bounds=bounds), flat=frozenset())


def _has_shapes(answer: Answer, question: Question) -> bool:
    """Whether every gradient by an input has its shape. A slope along a direction is by none."""
    (point,) = question.points
    whole = [name for name in question.wrt if name in answer.gradient]
    return all(np.shape(answer.gradient[name]) == np.shape(point.inputs[name]) for name in whole)


def _normwise(precision: Precision, gradient: Mapping[str, Array], accuracy: float = 0.0) -> dict[str, Array]:
    """Two roundings of the largest entry of the gradient and what is granted of it, and at least the smallest
    normal number, below which a float has fewer digits or none.

    Of a function that is no program it is not known how an entry is summed up. A linear one, as a Fourier
    transform, has the same gradient at inputs that differ in their last bits, and its rounding errors are
    small beside the largest entry only (N. Higham, Accuracy and Stability of Numerical Algorithms, 24.1).
    """
    form = FORMATS[precision]
    sizes = {name: np.max(np.abs(g), where=np.isfinite(g), initial=0.0) for name, g in gradient.items()}
    share = form.eps + accuracy / SAFETY
    return {n: np.full(g.shape, max(share * sizes[n], form.normal)) for n, g in gradient.items()}


def own_noise(
    oracle: FunctionOracle, question: Question, true: Mapping[str, Array], error: float | None = None
) -> dict[str, Array]:
    """By how much answers next to the point err to either side of the derivative at the point.

    The inputs of those answers differ in their last bits. Rounding errs to both sides. A rule that is wrong
    at the point and right around it errs to neither, and one that is wrong on one side of it errs to one.
    Where the answer at the point errs by `error`, and the first answers next to it by the same, no more are
    asked: rounding errs by another amount at each.
    """
    (point,) = question.points
    errors = {name: [np.zeros(np.shape(g))] for name, g in true.items()}
    ask = oracle.often(question)
    for beside in points_beside(point, 4.0 * FORMATS[question.precision].eps, _LANES):
        other = ask(beside)
        if other.status != "ok" or not _has_shapes(other, question):
            continue
        for name, g in products(question, other.gradient).items():
            with np.errstate(invalid="ignore"):
                errors[name].append(np.nan_to_num(g - true[name], posinf=0.0, neginf=0.0))
        first = [e for found in errors.values() for e in found[1:]]
        if error is not None and len(first) == _ALIKE and all(_is_steady(e, error) for e in first):
            break
    return {name: np.minimum(np.max(e, axis=0), -np.min(e, axis=0)) for name, e in errors.items()}


def _is_steady(errors: Array, error: float) -> bool:
    return bool(np.all(np.abs(errors - error) <= STEADY * abs(error)))


def apart_around(oracle: FunctionOracle, question: Question, got: float) -> float:
    """By how much the answers around the point, beyond the reach of rounding and of a kink at the point,
    differ from the one slope that was `got` at it; infinite where there is no answer.
    """
    (point,), rng = question.points, np.random.default_rng(0)
    most = FORMATS[question.precision].half_of_the_digits
    apart: list[float] = []
    for _ in range(_LANES):
        moved = {name: np.asarray(x) for name, x in point.inputs.items()}
        for name, x in moved.items():
            if is_float(x.dtype):
                steps = most * rng.uniform(-1.0, 1.0, x.shape) * sizes_of(x)
                moved[name] = np.asarray(x + steps, x.dtype)
        (other,) = oracle.answer(replace(question, points=(Point(moved),)))
        if other.status != "ok" or not _has_shapes(other, question):
            return math.inf
        ((there,),) = products(question, other.gradient).values()
        apart.append(abs(there - got))
    return float(np.max(apart))

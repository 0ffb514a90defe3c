"""The truth about a function that cannot be traced: measured on the function itself, in float64 where it can
be, with a bound that may be wide.

Order one, entry by entry: the slope along each coordinate by Richardson's extrapolation (`differences`),
which sees kinks as well. Where a function takes complex numbers and is analytic, the complex step Im F(x +
ih)/h (Squire and Trapp 1998) has no cancellation and replaces it: it counts as analytic where two steps and
the extrapolation all say the same. Order two is one such slope of the function's own first derivative, along
the direction; this derivative is first seen to be right at the point and on either side of it. Beyond that
nothing is said.

What rounding may do to an answer is measured as well: by asking again at inputs that differ in their last
bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, Tolerance
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.fuzzer.verdict.judge import judge
from gradfuzz.oracles.base import Answer, Array, Doubt, Point, Question, Truth
from gradfuzz.programs.language.precision import Precision, is_float
from gradfuzz.programs.language.syntax import ArrayConst, Const, Expr, Param, Program, Return
from gradfuzz.programs.language.types import DType, Type
from gradfuzz.testing.measuring.differences import Slope, slope
from gradfuzz.testing.measuring.measured import Method
from gradfuzz.testing.measuring.oracle import FunctionOracle
from gradfuzz.testing.measuring.subject import Subject

MOST_ENTRIES = 200
"""A function of more differentiated entries is not measured: each takes about a hundred evaluations."""

_LANES = 6
"""So many times an answer is asked again at inputs that differ in their last bits."""

_TRUSTED = 1e-3
"""A truth whose bound is wider than this share of the largest entry judges nothing ..."""

_NATURAL = 1e-8
"""... unless it is this small beside the size of the values over that of the inputs: then the derivative is
known to be next to 0.
"""

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
    believed where the answer is 0 as well.
    """

    truth: Truth
    method: Method
    flat: frozenset[tuple[str, tuple[int, ...]]] = frozenset()


class _Measured:
    """A function's values at and around a point, as one weighted sum."""

    def __init__(self, subject: Subject, question: Question, point: Point) -> None:
        self.subject = subject
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

    def moved(self, k: int, index: tuple[int, ...], t: float) -> float:
        """The sum where one entry of one input is moved by t."""
        inputs = list(self.inputs)
        inputs[k] = np.array(inputs[k], np.float64 if self.precision == "float64" else None)
        inputs[k][index] += t
        return self.at(inputs)

    def slope(self, k: int, index: tuple[int, ...]) -> Slope | None:
        return slope(lambda t: self.moved(k, index, t), _size(self.inputs[k], index), self.roundoff)

    def complex_slope(self, k: int, index: tuple[int, ...]) -> tuple[float, float] | None:
        """The slope by the complex step and its bound, from two steps; None where the function takes no
        complex numbers.
        """
        size = _size(self.inputs[k], index)
        found = []
        for step in (size * h for h in _IMAGINARY):
            inputs = [np.array(x, np.complex128) if x.dtype.kind == "f" else x for x in self.inputs]
            inputs[k][index] += 1j * step
            values = self.subject.complex_values(inputs)
            if values is None or len(values) != len(self.weights):
                return None
            terms = [float(np.sum(term)) for term in self.weighted([np.imag(y) for y in values])]
            found.append(math.fsum(terms) / step)
        if not all(map(math.isfinite, found)):
            return None
        return found[0], SAFETY * (abs(found[0] - found[1]) + 4.0 * self.roundoff * abs(found[0]))

    def scale(self, k: int, index: tuple[int, ...]) -> float:
        """The slope that would be natural: the size of the values over that of the entry."""
        sizes = [float(np.sum(np.abs(term))) for term in self.weighted(self.values)]
        return sum(sizes) / _size(self.inputs[k], index)


def _size(x: Array, index: tuple[int, ...]) -> float:
    """The scale of an entry: its own size, or a share of the largest of its array, or 1 among zeros."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return max(abs(float(x[index])), largest / 16.0) or 1.0


def slope_by_entry(
    subject: Subject, question: Question, point: Point, position: int, index: tuple[int, ...]
) -> Slope | None:
    """The slope by one entry of the input numbered `position`; None where it cannot be told."""
    found = _Measured(subject, question, point).slope(position, index)
    return None if found is None or found.flat else found


def numeric_truth(subject: Subject, question: Question, point: Point) -> NumericTruth:
    """The derivative of `subject` that `question` asks for, measured. Raises what the function raises at the
    point.
    """
    names = [p.name for p in question.program.params]
    wrt = [names.index(name) for name in question.wrt]
    entries = sum(np.size(point.inputs[name]) for name in question.wrt)
    if entries > MOST_ENTRIES:
        return _unknown(f"{entries} entries are too many to be measured one by one; choose fewer by wrt=")
    if question.order == 1:
        return _first(_Measured(subject, question, point), question, wrt)
    if question.order == 2:
        return _second(subject, question, point, wrt)
    return _unknown(f"derivatives of order {question.order} are not measured")


def _unknown(why: str) -> NumericTruth:
    return NumericTruth(Truth.unknown(Doubt.REFERENCES, why), "Richardson")


def _first(measured: _Measured, question: Question, wrt: Sequence[int]) -> NumericTruth:
    shapes = [np.shape(measured.inputs[k]) for k in wrt]
    value, bound, left, right, scales = ([np.zeros(shape) for shape in shapes] for _ in range(5))
    exact = True
    flat: set[tuple[str, tuple[int, ...]]] = set()
    for j, k in enumerate(wrt):
        for index in np.ndindex(shapes[j]):
            found = measured.slope(k, index)
            if found is None:
                return _unknown(f"no difference in {question.wrt[j]}{list(index) or ''} is finite")
            number, error = found.value, found.bound
            if not found.kink:
                better = _analytic(measured, k, index, number, error)
                if found.flat and better is None:
                    flat.add((question.wrt[j], index))
                exact = exact and better is not None
                number, error = better or (number, error)
            scales[j][index] = measured.scale(k, index)
            value[j][index], bound[j][index] = number, error
            left[j][index], right[j][index] = (found.left, found.right) if found.kink else (number, number)
    method: Method = "complex step" if exact else "Richardson"
    by_name = [dict(zip(question.wrt, arrays, strict=True)) for arrays in (value, bound, left, right)]
    if any(np.any(np.isnan(v)) for v in value):
        why = "the slopes to either side stay apart as the step shrinks"
        sides = {"left": by_name[2], "right": by_name[3], "side_bounds": by_name[1]}
        return NumericTruth(Truth.unknown(Doubt.KINK, why, **sides, kink=True), method)
    for v, b, s in zip(value, bound, scales, strict=True):
        largest = float(np.max(np.abs(v), initial=0.0))
        if np.any(b > np.maximum(_TRUSTED * largest, _NATURAL * s)):
            return _unknown("the differences of the function are too noisy to tell its derivative")
    return NumericTruth(Truth("ok", gradient=by_name[0], bounds=by_name[1]), method, frozenset(flat))


def _analytic(
    measured: _Measured, k: int, index: tuple[int, ...], value: float, bound: float
) -> tuple[float, float] | None:
    """The complex step and its bound, where the extrapolation knows the slope well and says the same; what it
    is apart from that is in the bound.
    """
    if bound > max(_TRUSTED * abs(value), _NATURAL * measured.scale(k, index)):
        return None
    found = measured.complex_slope(k, index)
    if found is None or abs(found[0] - value) > found[1] + bound:
        return None
    return found[0], found[1] + abs(found[0] - value)


def _second(subject: Subject, question: Question, point: Point, wrt: Sequence[int]) -> NumericTruth:
    """The slope of the first derivative along the direction."""
    first = replace(question, modes=("rev",), directions={})
    measured = _Measured(subject, first, point)
    directions = [np.asarray(question.directions[name], np.float64) for name in question.wrt]

    def shifted(t: float) -> list[Array]:
        inputs = list(measured.inputs)
        for k, v in zip(wrt, directions, strict=True):
            inputs[k] = np.asarray(inputs[k], np.float64 if measured.precision == "float64" else None) + t * v
        return inputs

    def gradient(t: float) -> list[Array]:
        found = subject.derivative(shifted(t), question.weights, [], ("rev",), measured.precision)[1]
        return [np.asarray(g, np.float64) for g in found]

    xs = [measured.inputs[k] for k in wrt]
    sizes = [_size(x, index) for x in xs for index in np.ndindex(np.shape(x))]
    largest = max((float(np.max(np.abs(v), initial=0.0)) for v in directions), default=1.0)
    size = min(sizes, default=1.0) / largest
    for t in (0.0, size / 4.0, -size / 4.0):
        inputs = dict(zip([p.name for p in question.program.params], shifted(t), strict=True))
        there = replace(first, precision=measured.precision, points=(Point(inputs),))
        here = numeric_truth(subject, there, there.points[0]).truth
        for name, g in zip(question.wrt, gradient(t), strict=True):
            if here.status != "ok" or np.any(np.abs(g - here.gradient[name]) > 4.0 * here.bounds[name]):
                return _unknown(
                    "the first derivative could not be shown to be right around the point, and the second is"
                    " measured on it"
                )
    values, bounds = ([np.zeros(np.shape(x)) for x in xs] for _ in range(2))
    for j, x in enumerate(xs):
        for index in np.ndindex(np.shape(x)):
            found = slope(lambda t, j=j, index=index: float(gradient(t)[j][index]), size, measured.roundoff)  # type: ignore[misc]
            if found is None or found.kink:
                return _unknown("the first derivative has a kink here")
            values[j][index], bounds[j][index] = found.value, found.bound
    by_name = [dict(zip(question.wrt, arrays, strict=True)) for arrays in (values, bounds)]
    return NumericTruth(Truth("ok", gradient=by_name[0], bounds=by_name[1]), "Richardson")


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
    if answer.status != "ok":
        return judge(oracle.name, question, 0, answer, truth, Tolerance(question.precision, noise={}))
    noise = own_noise(oracle, question, answer)
    tolerance = Tolerance(question.precision, value_noise=_zeros(answer.values), noise=_widened(noise, truth))
    case = judge(oracle.name, question, 0, answer, truth, tolerance)
    if case.verdict is Verdict.DISAGREE and case.worst in found.flat:
        why = "the function does not change with this entry, truly or because rounding hides it"
        return unsettled(case, Reason.REFERENCES, f"references: {why}")
    return case


def unsettled(case: CheckResult, reason: Reason, message: str) -> CheckResult:
    """A disagreement that cannot be upheld."""
    return replace(case, verdict=Verdict.INCONCLUSIVE, kind=None, reason=reason, message=message)


def _zeros(values: Sequence[Array]) -> tuple[Array, ...]:
    return tuple(np.zeros(np.shape(y)) for y in values)


def own_noise(oracle: FunctionOracle, question: Question, answer: Answer) -> dict[str, Array]:
    """How far the answers at inputs that differ in their last bits stray from the one at the point."""
    (point,) = question.points
    rng = np.random.default_rng(0)
    noise = {name: np.zeros(np.shape(g)) for name, g in answer.gradient.items()}
    unit = 2.0 * unit_roundoff(question.precision)
    for _ in range(_LANES):
        inputs = {}
        for param in question.program.params:
            x = np.asarray(point.inputs[param.name])
            inputs[param.name] = x
            if param.type.is_float:
                moved = np.asarray(x, np.float64) * (1.0 + unit * rng.integers(-2, 3, x.shape))
                inputs[param.name] = np.asarray(moved, x.dtype)
        (other,) = oracle.answer(replace(question, points=(Point(inputs),)))
        for name, g in other.gradient.items():
            if name in noise and np.shape(g) == noise[name].shape:
                stray = np.abs(np.asarray(g, np.float64) - np.asarray(answer.gradient[name], np.float64))
                noise[name] = np.maximum(noise[name], np.where(np.isfinite(stray), stray, 0.0))
    return noise


def _widened(noise: dict[str, Array], truth: Truth) -> dict[str, Array]:
    """The noise, at least as wide as the truth's bound, which is narrow enough to judge by or there would be
    no truth.
    """
    bounds = {name: truth.bounds.get(name, np.zeros(found.shape)) for name, found in noise.items()}
    return {
        name: np.maximum(found, bounds[name] / SAFETY) if bounds[name].shape == found.shape else found
        for name, found in noise.items()
    }

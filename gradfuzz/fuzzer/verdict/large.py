"""Questions of arrays that are too large for balls and for hundreds of bits.

Their truth is the engine's derivative in float64, with the noise of its lanes for a bound. Differences of the
interpreter, which shares no rule and no graph with the engine, have to confirm it: on a line where every
input moves, and, before an answer is called wrong, along the very direction or entry in which it is, or along
all of its errors.

Of many decisions rounding leaves some open. Each is taken as float64 takes it, and the other way only where
an answer is otherwise wrong, and right in float64.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.engine import derivative
from gradfuzz.errors import GradfuzzError, UsageError
from gradfuzz.fuzzer.results.finding import CheckResult, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import LARGE, SAFETY, Tolerance
from gradfuzz.fuzzer.tolerance.lanes import FEW, LANES
from gradfuzz.fuzzer.tolerance.perturbed import turned, unit_roundoff
from gradfuzz.fuzzer.verdict.along import Probe, at_entry, noise_of, products, signs
from gradfuzz.oracles.base import ALONG, Answer, Array, Doubt, Mode, ProbedQuestion, Question, Truth
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace, numbers_of
from gradfuzz.programs.evaluation.interpret import arguments_of, evaluate, interpret
from gradfuzz.programs.graphs.graph import Equation, Graph, numbers_in
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision, all_rounded, is_float, rounded
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.syntax import ArrayConst

REFERENCES = "engine", "differences"
"""Who tells the truth of what is large."""

_MOST = 2**16
"""Balls take seconds for so many numbers, ..."""

_PRODUCTS = 16
"""... each of which costs as much as so many products of a product of matrices."""

_STEP = 2.0**-4
"""The longest step of a difference, as a share of the inputs; the others are its halves."""

_SHORT = 2.0**-20
"""The longest step of one that no decision may stand in the way of."""

_STEPS = 4
"""How many steps a difference takes that decides; one that confirms takes two."""

_TRIED = 16
"""So many decisions that rounding leaves open are taken the other way, the likeliest first."""

MEMORY = "GRADFUZZ_MEMORY"
"""The variable that says how many GiB a check may take; 2 where it is not set."""

_DERIVATIVE = 3
"""A derivative computes so many times as many numbers as its function, about."""

_DOUBTS: Mapping[Reason, Doubt] = {
    Reason.DOMAIN: Doubt.DOMAIN,
    Reason.RANGE: Doubt.RANGE,
    Reason.TRIP_LIMIT: Doubt.TRIP_LIMIT,
}


def _is_large(program: Program) -> bool:
    graph = lower(program)
    return numbers_in(graph) + _products(graph) / _PRODUCTS > _MOST


def _products(graph: Graph) -> float:
    """How many products the products of matrices of a graph are made of."""
    found = 0.0
    for node in graph.walk():
        if isinstance(node, Equation) and node.op == "matmul":
            found += math.prod(node.output.type.sizes) * node.inputs[0].type.sizes[-1]
    return found


_large = Recent(_is_large, 1024)


def is_large(question: Question) -> bool:
    """Whether the program of a question is too large for the references."""
    return _large.get(question.program)


def must_fit(program: Program, label: str) -> None:
    """`UsageError` where judging a derivative of the program would take more memory than the limit."""
    text = os.environ.get(MEMORY, "2")
    try:
        limit = float(text)
    except ValueError:
        raise UsageError(f"{MEMORY}={text!r} is not a number of GiB, as in {MEMORY}=4") from None
    numbers = numbers_in(lower(program))
    lanes = LANES if _DERIVATIVE * numbers <= LARGE else len(FEW)
    needed = 8.0 * lanes * _DERIVATIVE * numbers / 2.0**30
    if needed > limit:
        raise UsageError(
            f"a check of {label} takes about {needed:.1f} GiB, more than {limit:g} GiB: it computes"
            f" {numbers:,} numbers, arguments and intermediate ones. Ask at smaller arrays, or raise the"
            f" limit with {MEMORY}={math.ceil(needed)}"
        )


class _Float64(NumpyNamespace):
    """NumPy in float64, with the constants of a precision."""

    def __init__(self, precision: Precision) -> None:
        super().__init__("float64")
        self._rounded_to = precision

    def constant(self, value: float | int | complex) -> Any:
        if isinstance(value, complex):
            parts = (rounded(part, self._rounded_to) for part in (value.real, value.imag))
            return super().constant(complex(*parts))
        return super().constant(rounded(value, self._rounded_to))

    def array(self, value: ArrayConst) -> Any:
        if value.dtype == "float":
            return all_rounded(numbers_of.get(value), self._rounded_to).reshape(value.shape)
        return super().array(value)


def _compared(holds: np.ufunc) -> Any:
    def method(self: _OtherSides, a: Any, b: Any) -> Any:
        return holds(self.sign(np.subtract(a, b)), 0)

    return method


class _OtherSides(_Float64):
    """The same, with the decisions whose differences have the sizes `others` taken the other way."""

    def __init__(self, precision: Precision, others: Sequence[float]) -> None:
        super().__init__(precision)
        self._others = others

    def sign(self, x: Any) -> Any:
        return turned(np.sign(x), np.abs(x), self._others)

    less, less_equal = _compared(np.less), _compared(np.less_equal)
    greater, greater_equal = _compared(np.greater), _compared(np.greater_equal)
    equal, not_equal = _compared(np.equal), _compared(np.not_equal)


@dataclass(frozen=True, slots=True)
class _Difference:
    value: float
    bound: float


class Large:
    """A question of one point, and what the engine says of its gradient. `REFERENCES` tell its truth."""

    def __init__(self, question: Question, tolerance: Tolerance) -> None:
        self._question, self._tolerance = question, tolerance
        self._inputs = {
            name: np.asarray(x, np.float64) if is_float(x.dtype) else x
            for name, x in (
                (p.name, np.asarray(question.points[0].inputs[p.name])) for p in question.program.params
            )
        }
        self._arithmetic = _Float64(question.precision)
        self._known: Recent[tuple[Probe, ...], Truth] = Recent(self._along_probes, 2)

    def truth(self, asked: Question, *, confirm: bool) -> Truth:
        """The truth of the question or of it along directions."""
        tolerance = self._tolerance
        if tolerance.reason is not None:
            return Truth.unknown(_DOUBTS.get(tolerance.reason, Doubt.REFERENCES), tolerance.message)
        if isinstance(asked, ProbedQuestion):
            found = self._known.get(asked.probes)
        else:
            found = self.unconfirmed(asked)
        if asked.order and self._doubt:
            return Truth.unknown(Doubt.REFERENCES, self._doubt)
        if asked.order and confirm and isinstance(asked, ProbedQuestion):
            rows = zip(asked.probes, found.gradient[ALONG], found.bounds[ALONG], strict=True)
            if not all(self._confirmed(probe, g, bound, _STEPS) for probe, g, bound in rows):
                return Truth.unknown(Doubt.REFERENCES, _APART)
        return found

    def unconfirmed(self, asked: Question) -> Truth:
        """What the engine says."""
        tolerance, unit = self._tolerance, unit_roundoff("float64")
        share = unit / unit_roundoff(self._question.precision)

        def granted(true: Array, noise: Array) -> Array:
            return np.asarray(SAFETY * (share * noise + unit * np.abs(true)))

        values = tuple(np.asarray(y, np.float64) for y in tolerance.values)
        value_bounds = tuple(map(granted, values, tolerance.value_noise))
        gradient = products(asked, tolerance.gradient) if asked.order else {}
        noise = noise_of(asked, tolerance) if asked.order else {}
        bounds = {name: granted(g, noise[name]) for name, g in gradient.items()}
        return Truth("ok", values, value_bounds, gradient, bounds)

    def _along_probes(self, probes: tuple[Probe, ...]) -> Truth:
        return self.unconfirmed(ProbedQuestion.of(self._question, probes))

    def others_taken(self, answer: Answer) -> tuple[float, ...]:
        """Those of the open decisions that bring the derivative nearer to an answer if they are taken the
        other way.
        """
        graph = self._derivative(self._question.order)
        given = self._given_at(self._inputs, self._question.order)

        def off(others: tuple[float, ...]) -> int:
            found = evaluate(graph, given, _OtherSides(self._question.precision, others))
            count, gradient = 0, found[len(self._question.weights) :]
            for name, g in zip(self._question.wrt, gradient, strict=True):
                allowed = self._tolerance.allowed(g, self._tolerance.noise[name], np.zeros(()))
                got = np.asarray(answer.gradient[name], np.float64)
                count += int(np.count_nonzero(~(np.abs(got - g) <= allowed)))
            return count

        taken: tuple[float, ...] = ()
        left = off(taken)
        for size in self._tolerance.open[:_TRIED] if left else ():
            there = off((*taken, size))
            if there < left:
                taken, left = (*taken, size), there
        return taken

    def upheld(self, case: CheckResult) -> CheckResult:
        """The case; undecided where a number is called wrong, and neither the differences along the same
        direction nor those along all errors of the answer tell it from what is right.
        """
        of_numbers = case.verdict is Verdict.DISAGREE and case.kind is not None and case.kind.of_numbers
        if not of_numbers or case.worst is None or case.got is None or not math.isfinite(case.got):
            return case
        assert case.expected is not None, "a number is wrong"
        asked, (name, index) = case.question, case.worst
        if name not in (*asked.wrt, ALONG):
            return case
        if name != ALONG:
            asked, index = at_entry(asked, (asked.wrt.index(name), index)), (0,)
        assert isinstance(asked, ProbedQuestion), "a direction is one of several"
        if self._confirmed(asked.probes[index[0]], case.expected, 0.0, _STEPS, but=case.got):
            return case
        if ALONG not in case.answer.gradient:
            line = {n: case.answer.gradient[n] - g for n, g in self._tolerance.gradient.items()}
            (right, got) = (
                products(ProbedQuestion.of(case.question, [line]), gradient)[ALONG][0]
                for gradient in (self._tolerance.gradient, case.answer.gradient)
            )
            if math.isfinite(got) and self._confirmed(line, right, 0.0, _STEPS, but=got):
                return case
        return case.unsettled(
            Reason.REFERENCES, "the differences of the function do not tell so small an error"
        )

    @functools.cached_property
    def _doubt(self) -> str:
        """Why the engine's gradient is not confirmed; "" where it is, on a line where all inputs move."""
        rng = np.random.default_rng(0)
        sizes = {name: _scale(self._inputs[name]) for name in self._question.wrt}
        line = {n: signs(self._inputs[n].shape, rng, self._question.precision) * s for n, s in sizes.items()}
        asked = ProbedQuestion.of(self._question, [line])
        (slope,), (noise,) = (
            products(asked, self._tolerance.gradient)[ALONG],
            noise_of(asked, self._tolerance)[ALONG],
        )
        return "" if self._confirmed(line, slope, SAFETY * noise, 2) else _APART

    def _confirmed(
        self, line: Mapping[str, Array], slope: float, room: float, steps: int, but: float = math.nan
    ) -> bool:
        """Whether differences along a line have a slope in their bounds, and not another one: those of long
        steps, or those of steps so short that hardly a decision changes.
        """
        for longest in (_STEP, _SHORT):
            found = self._along(line, steps, longest)
            if abs(found.value - slope) <= found.bound + room and not abs(found.value - but) <= found.bound:
                return True
        return False

    def _along(self, line: Mapping[str, Array], steps: int, longest: float) -> _Difference:
        """The derivative along a line by central differences of so many steps (Richardson's extrapolation),
        and a bound. The steps are `longest`, as a share of the inputs, and its halves.
        """
        moved = ((self._inputs[n], d) for n, d in line.items() if np.any(d))
        unit = min((_scale(x) / float(np.max(np.abs(d))) for x, d in moved), default=1.0)
        rounding = 0.0
        above: list[float] = []
        before = math.nan
        for k in range(steps):
            step = longest * unit / 2.0**k
            ahead, behind = (self._value(line, sign * step) for sign in (1.0, -1.0))
            row = [(ahead - behind) / (2.0 * step)]
            rounding = SAFETY * self._rounding / step
            for j, other in enumerate(above, 1):
                row.append(row[-1] + (row[-1] - other) / (4.0**j - 1.0))
            before, above = (above[-1] if above else math.nan), row
        return _Difference(above[-1], abs(above[-1] - before) + rounding)

    def _value(self, line: Mapping[str, Array], t: float) -> float:
        """What is differentiated last, at t along a line; NaN where it is not defined."""
        order, inputs = self._question.order, dict(self._inputs)
        along = line if order == 1 else self._question.directions
        for name, d in along.items():
            inputs[name] = inputs[name] + t * d
        try:
            if order == 1:
                values = interpret(self._question.program, arguments_of(inputs), self._arithmetic)
                pairs = zip(self._question.weights, values, strict=True)
                return float(sum(np.sum(w * y) for w, y in pairs if w is not None))
            given = self._given_at(inputs, order - 1)
            gradient = evaluate(self._lower, given, self._arithmetic)[len(self._question.weights) :]
            return float(sum(np.sum(g * line[n]) for n, g in zip(self._question.wrt, gradient, strict=True)))
        except (GradfuzzError, FloatingPointError, OverflowError):
            return math.nan

    def _given_at(self, inputs: Mapping[str, Array], order: int) -> list[Any]:
        """What a derivative of the order takes."""
        question = self._question
        weights = [w for w in question.weights if w is not None]
        lines = [question.directions[name] for name in question.wrt] if order > 1 else []
        return [*arguments_of(inputs).values(), *weights, *lines]

    @functools.cached_property
    def _lower(self) -> Graph:
        """The derivative of one order less."""
        return self._derivative(self._question.order - 1)

    def _derivative(self, order: int) -> Graph:
        """The derivative of an order, by the engine."""
        last: Mode = "rev"
        return derivative(self._question.program, wrt=self._question.wrt, modes=(last,) * order)

    @functools.cached_property
    def _rounding(self) -> float:
        """What rounding in float64 may do to what is differentiated."""
        unit = unit_roundoff("float64")
        share = unit / unit_roundoff(self._question.precision)
        if self._question.order > 1:
            return share * sum(float(np.sum(n)) for n in self._tolerance.noise.values())
        rows = zip(self._question.weights, self._tolerance.values, self._tolerance.value_noise, strict=True)
        return sum(
            float(np.sum(np.abs(w) * (share * n + unit * np.abs(y)))) for w, y, n in rows if w is not None
        )


_APART = "the engine and the differences of the function contradict each other about a derivative"


def _scale(x: Array) -> float:
    """The size of the entries of an array."""
    finite = np.where(np.isfinite(x), x, 0.0)
    return math.sqrt(float(np.mean(finite * finite))) or 1.0 if x.size else 1.0


def strays(case: CheckResult, tolerance: Tolerance) -> bool:
    """Whether an answer that seems right is off by more than rounding is likely to do, in an entry or in the
    size of the gradient by an input.
    """
    unit = unit_roundoff(tolerance.precision)
    is_asked = case.verdict is Verdict.AGREE and ALONG not in case.answer.gradient
    for name, likely in tolerance.likely.items() if is_asked else ():
        right = tolerance.gradient[name]
        error = np.asarray(case.answer.gradient[name], np.float64) - right
        tilt = abs(float(np.vdot(error, right)))
        if np.any(np.abs(error) > SAFETY * (likely + unit * np.abs(right))) or tilt > SAFETY * (
            tolerance.tilt[name] + unit
        ) * float(np.vdot(right, right)):
            return True
    return False


def split(asked: Question) -> list[Question]:
    """The question at each of its points."""
    return [replace(asked, points=(point,)) for point in asked.points]

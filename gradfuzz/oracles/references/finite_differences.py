"""The reference `mpmath`: central differences in hundreds of bits, with a measured error bound.

The k-th derivative along a line is the central difference

    h^-k sum over j of (-1)^j binom(k, j) F(x + (k/2 - j) h d)   =   D^kF[d, ..., d] + O(h^2)

(Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids", 1988). It is taken twice,
the second time with a step 2^8 times smaller and 64 bits to spare for it. Truncation shrinks by 2^-16 and
rounding by 2^-64, so the difference of the two is the error of the first and far more than that of the
second, which is the answer. Where the two do not agree closely, or both are exactly 0, they are repeated far
deeper.

Nothing here knows a rule of differentiation or shares arithmetic with `arb`. What it adds is what happens
around a point: every run records its decisions, trip counts and selections, and where these change between
the stencil's points the point is a kink, with the slopes to the left and to the right of it.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType
from typing import Any

import mpmath
import numpy as np

from gradfuzz.errors import DomainError, EvaluationError
from gradfuzz.oracles.base import Array, Doubt, Point, Question, Reference, Truth
from gradfuzz.oracles.references.directions import Line, QuestionSetting, UnsettledError, inconclusive
from gradfuzz.oracles.references.mpmath_linalg import LinalgMpmath, bits_of
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError, UndecidedError
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.precision import Precision

_STEP = 160
"""h = 2^-160 times the smallest input: numbers that a short program makes of float64 inputs are equal or
farther apart, so no kink but one at the point itself lies inside a stencil.
"""

_FINER = 8
"""The second difference is taken with h / 2^8."""

_SPARE = 240
"""Bits beyond the k x 160 that a k-th difference cancels."""

_DEEPER = (0, 256, 1024)
"""The attempts have so many more bits in the step, and twice as many beside. The second sees a slope of
1e-220 on a value of 1; the third follows chaotic loops whose slopes are as large as a float64 can be.
"""

_AGREEING = 80
"""The two differences agree where they are within 2^-80 of each other, relative to the second ..."""

_ROUNDING = 16
"""... or within 2^16 roundings of the first, on its scale: the derivative is then 0 as far as it
can be seen.
"""

_VALUE_AGREEING = 200
"""Two values also agree where they are within 2^-200: 0, as far as it can be seen."""

_SAFETY = 8
"""The bound is so many times the difference of the two."""

_RANGES = {"exp": 256, "expm1": 256, "sin": 4096, "cos": 4096, "tan": 4096}
"""exp of 2^256 and sin of 2^4096 are far beyond what any float leads to, and reducing them would take mpmath
for ever.
"""

_NEAR_CUT = 40
"""On which side of the negative real axis a number stands is a choice where it is closer to it than 2^-40 of
its size ...
"""

_ON_CUT = 64
"""... and nobody knows where it is within 2^64 roundings of it."""

Number = Any
"""An mpmath.mpf or mpmath.mpc; mpmath has no types."""

_Run = tuple[Number, list[int], tuple[Any, ...]]
"""F, the trace and the outputs."""


@functools.cache
def _code(name: str) -> CodeType:
    """What mpmath is called with."""
    row = FUNCTIONS[name]
    return compile(row.mpmath or f"mp.{name}({', '.join(row.arguments)})", f"<mpmath {name}>", "eval")


class MpmathNamespace(LinalgMpmath):
    """mpf and mpc numbers of one context. `order` 0 is a plain evaluation: sqrt(0) is 0 there, and a domain
    error otherwise.
    """

    def __init__(
        self,
        context: Any,
        precision: Precision = "float64",
        trace: list[int] | None = None,
        *,
        order: int = 0,
    ) -> None:
        super().__init__(precision, trace)
        self.mp = context
        self.order = order
        self._known: dict[tuple[str, int, Any], Number] = {}

    def scalar(self, value: float | int) -> Number:
        return self.mp.mpf(value)

    def is_complex(self, x: Number) -> bool:
        return isinstance(x, self.mp.mpc)

    def pair(self, re: Number, im: Number) -> Number:
        return self.mp.mpc(re, im)

    def parts(self, z: Number) -> tuple[Number, Number]:
        return z.real, z.imag

    def nonzero(self, z: Number) -> bool:
        return bool(z)

    def compare(self, a: Number, b: Number) -> int:
        return (a > b) - (a < b)

    def quotient(self, a: Number, b: Number) -> Number:
        if not b:
            raise DomainError("division by 0; the divisor must not be 0")
        return a / b

    def power(self, a: Number, b: Number) -> Number:
        if self.is_complex(a):
            self._off_the_cut("pow", a)
        else:
            _positive(a, "pow")
        return self.function("exp", b * self.mp.ln(a))

    def products(self, left: Any, right: Any) -> Any:
        if left.dtype != object or right.dtype != object or not left.size or not right.size:
            return super().products(left, right)
        return self._over("matmul", self._multiplied, left, right)

    def _multiplied(self, a: Any, b: Any) -> Any:
        """Each entry is rounded once."""
        rows, columns = a.tolist(), b.T.tolist()
        result = np.empty((len(rows), len(columns)), object)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                result[i, j] = self.mp.fdot(row, column)
        return result

    def function(self, name: str, *args: Number, **params: int) -> Number:
        row, x = FUNCTIONS[name], args[-1]
        self._defined(row, x)
        for arg in args:
            if arg and self._beyond(name, arg):
                raise OutOfRangeError(f"{name} of {self.mp.nstr(arg, 5)}, a number beyond all floats")
        # Most runs of a stencil meet the same arguments again: those that do not depend on what moves.
        key = name, self.mp.prec, *map(bits_of, args), *params.values()
        if key not in self._known:
            names = {"mp": self.mp, "abs": abs, **dict(zip(row.arguments, args, strict=True)), **params}
            try:
                self._known[key] = eval(_code(name), {"__builtins__": {}}, names)  # noqa: S307 - a text of the table
            except (ValueError, ZeroDivisionError) as error:
                raise DomainError(f"{name} of {self.mp.nstr(x, 5)}: {error}") from error
        return self._known[key]

    def whole(self, x: Number) -> int:
        return int(self.mp.floor(x))

    def _beyond(self, name: str, x: Number) -> bool:
        """Whether a function of x is nothing that a float leads to. exp grows with the real part, sin and cos
        with the imaginary one.
        """
        if not self.is_complex(x):
            most = _RANGES.get(name, math.inf if FUNCTIONS[name].reserved else 256)
            return bool(self.mp.mag(x) > most)
        sizes = [self.mp.mag(part) for part in (x.real, x.imag)]
        growing = {"exp": sizes[0], "sin": sizes[1], "cos": sizes[1]}.get(name, -math.inf)
        return bool(max(sizes) > _RANGES["sin"] or growing > _RANGES["exp"])

    def _defined(self, row: Function, x: Number) -> None:
        """Whether x is in the domain: at a closed end a function has a value but no derivative."""
        low, high = row.domain
        if self.is_complex(x):
            if low == 0.0 and (x or self.order or not row.closed):
                self._off_the_cut(row.name, x)
        elif not low < x < high and not (row.closed and not self.order and low <= x <= high):
            raise DomainError(f"{row.name} of {self.mp.nstr(x, 5)}; the argument must be {row.where}")

    def _off_the_cut(self, op: str, z: Number) -> None:
        """The ops that jump across the negative real axis, and have no derivative at 0."""
        if not z:
            raise DomainError(f"{op} of 0; the argument must not be 0")
        size, height = abs(z.real), abs(z.imag)
        near = z.real < 0 and height < self.mp.ldexp(size, -_NEAR_CUT)
        if near and height <= self.mp.ldexp(size, _ON_CUT - self.mp.prec):
            where = f"{op} of {self.mp.nstr(z, 5)}"
            raise UndecidedError(f"{where}: it jumps across the negative real axis", tie=True)
        self.choices.append((1 if z.imag > 0 else -1) if near else 0)


def _positive(x: Number, op: str) -> None:
    """The ops that want a positive argument: at 0 sqrt has a value but no derivative."""
    if x <= 0:
        raise DomainError(f"{op} of {x.context.nstr(x, 5)}; the argument must be positive")


class MpmathReference(Reference):
    """Measured bounds, and one-sided slopes at kinks. One instance is not to be used by two threads
    at once.
    """

    name = "mpmath"
    version = str(mpmath.__version__)

    @functools.cached_property
    def _context(self) -> Any:
        """Our own: mpmath's global precision stays as it is. Few checks need it, and it takes a while."""
        return mpmath.MPContext()

    def truth(self, question: Question) -> list[Truth]:
        return [self._at(question, point) for point in question.points]

    def _at(self, question: Question, point: Point) -> Truth:
        trace: list[int] = []
        try:
            return _Stencils(self._context, QuestionSetting(question, point), trace).truth()
        except EvaluationError as error:
            return inconclusive(error, trace)


@dataclass(frozen=True, slots=True)
class _Level:
    """A step h = 2^-`step` and the precision that goes with it."""

    step: int
    bits: int


@dataclass(frozen=True, slots=True)
class _Slope:
    """One coordinate of the gradient as one level measures it. `rounding` bounds what the last operations
    lose.
    """

    value: Number
    left: Number
    right: Number
    rounding: Number
    same_trace: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    """One coordinate of the gradient, from two levels."""

    value: Number
    bound: Number
    left: Number
    right: Number
    side_bound: Number
    same_trace: bool
    bends: bool
    jumps: bool
    agreed: bool
    vanishes: bool

    @property
    def smooth(self) -> bool:
        return self.same_trace and not self.bends


class _Stencils:
    """All that is evaluated for one question at one point."""

    def __init__(self, context: Any, setting: QuestionSetting, trace: list[int]) -> None:
        self.mp = context
        self.setting = setting
        self.question = setting.question
        self.order = setting.question.order
        self.trace = trace
        """What was decided at the point itself."""
        self._centres: dict[_Level, _Run] = {}
        self._namespace = MpmathNamespace(context, self.question.precision, order=self.order)
        some = setting.largest > 0.0
        self._small = max(0, -math.frexp(setting.smallest)[1]) if some else 0
        self._large = max(0, math.frexp(setting.largest)[1])

    def truth(self) -> Truth:
        values, value_bounds = self._values()
        entries = [self._entry(shares) for shares in self.setting.lines()]
        smooth, jumps = all(e.smooth for e in entries), any(e.jumps for e in entries)
        gradient = [_entry(e.value, e.bound) for e in entries] if smooth else []
        if gradient and all(math.isinf(bound) for _, bound in gradient):
            _rounded(entries[0].value, entries[0].bound)
        found: dict[str, Any] = {"values": values, "value_bounds": value_bounds, "trace": tuple(self.trace)}
        if self.order == 1 and (smooth or not jumps):
            found["left"] = self.setting.gradient([float(e.left) for e in entries])
            found["right"] = self.setting.gradient([float(e.right) for e in entries])
            found["side_bounds"] = self.setting.gradient([float(e.side_bound) for e in entries])
        if smooth:
            slopes, bounds = (self.setting.gradient([pair[k] for pair in gradient]) for k in (0, 1))
            return Truth("ok", gradient=slopes, bounds=bounds, **found)
        words = "the value jumps at this point" if jumps else "decisions or slopes change at this point"
        return Truth.unknown(Doubt.KINK, words, kink=True, **found)

    def _levels(self, deeper: int) -> tuple[_Level, _Level]:
        step = _STEP + self._small + deeper
        bits = self.order * step + _SPARE + self._large + 2 * deeper
        return _Level(step, bits), _Level(step + _FINER, bits + _FINER * self.order + 64)

    # Evaluations

    def _run(self, level: _Level, line: Line | None, half_steps: int) -> _Run:
        """F, the trace and the outputs at x + half_steps h/2 d."""
        mp = self.mp
        mp.prec = level.bits
        t = mp.ldexp(mp.mpf(half_steps), -level.step - 1)
        inputs = self.setting.inputs(line, mp.mpf, lambda x, v, s: x + t * (mp.mpf(v) + s))
        trace: list[int] = []
        self._namespace.choices = trace
        outputs = interpret(self.question.program, inputs, self._namespace, trace=trace)
        return self.setting.total(outputs, mp.mpf), trace, outputs

    def _centre(self, level: _Level) -> _Run:
        if level not in self._centres:
            self._centres[level] = self._run(level, None, 0)
            self.trace[:] = self._centres[level][1]
        return self._centres[level]

    def _slope(self, shares: Sequence[Line], level: _Level) -> _Slope:
        """The weighted sum of the k-th central differences along the lines, and for k = 1 the differences to
        either side.
        """
        mp, k = self.mp, self.order
        here, trace, _ = self._centre(level)
        mp.prec = level.bits
        total = rounding = mp.mpf(0)
        left = right = None
        same_trace = True
        for line in shares:
            ends = [self._run(level, line, k - 2 * j) for j in range(k + 1)]
            same_trace = same_trace and all(steps == trace for _, steps, _ in ends)
            heights = [height for height, _, _ in ends]
            difference = sum(((-1) ** j * math.comb(k, j) * y for j, y in enumerate(heights)), mp.mpf(0))
            weight = _number(mp, line.weight)
            total += weight * mp.ldexp(difference, k * level.step)
            lost = k * level.step + k + _ROUNDING - level.bits
            rounding += abs(weight) * mp.ldexp(max(1, *map(abs, heights)), lost)
            if k == 1:
                right = mp.ldexp(heights[0] - here, level.step + 1)
                left = mp.ldexp(here - heights[1], level.step + 1)
        return _Slope(total, left, right, rounding, same_trace)

    def _entry(self, shares: Sequence[Line]) -> _Entry:
        """One coordinate of the gradient, from the first pair of levels that settles it."""
        for deeper in _DEEPER:
            entry = self._compared(*(self._slope(shares, level) for level in self._levels(deeper)))
            # Two differences of exactly 0 may both have lost the derivative beside a larger number: one
            # deeper look.
            if not entry.same_trace or (entry.agreed and not entry.bends) or (entry.vanishes and deeper):
                return entry
        if entry.agreed:
            return entry
        apart = self.mp.nstr(entry.bound / _SAFETY, 5)
        raise UnsettledError(f"differences at two steps are {apart} apart, however small the steps")

    def _compared(self, one: _Slope, two: _Slope) -> _Entry:
        apart = abs(one.value - two.value)
        close = self.mp.ldexp(abs(two.value), -_AGREEING)
        vanishes = not (one.value or two.value)
        agreed = not vanishes and (apart <= close or apart <= one.rounding)
        bends = jumps = False
        if self.order == 1:
            # Truncation and rounding shrink from the first level to the second; what does not shrink is a
            # kink, and what grows with 1/h is a jump.
            bend, bend_before = abs(two.right - two.left), abs(one.right - one.left)
            bends = bend > bend_before / 16 > 0
            jumps = abs(two.left) > 16 * abs(one.left) or abs(two.right) > 16 * abs(one.right)
        same_trace = one.same_trace and two.same_trace
        bound = _SAFETY * apart + two.rounding
        left, right, side_bound = self._sides(one, two) if self.order == 1 else (None, None, None)
        return _Entry(two.value, bound, left, right, side_bound, same_trace, bends, jumps, agreed, vanishes)

    def _sides(self, one: _Slope, two: _Slope) -> tuple[Number, Number, Number]:
        """The slopes to the left and right, extrapolated to h = 0 from h and h/256 as their truncation is
        O(h), and a bound for both.
        """
        steps = 2**_FINER
        left, right = (
            (steps * after - before) / (steps - 1)
            for before, after in ((one.left, two.left), (one.right, two.right))
        )
        return left, right, _SAFETY * max(abs(two.left - one.left), abs(two.right - one.right)) + two.rounding

    # Results

    def _values(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """The outputs at the point and their bounds, from the first pair of levels that settles them."""
        for deeper in _DEEPER:
            before, after = (
                [self._numbers(y) for y in self._centre(level)[2]] for level in self._levels(deeper)
            )
            apart = [
                [abs(y - x) for x, y in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)
            ]
            pairs = zip(itertools.chain(*apart), itertools.chain(*after), strict=True)
            # An exact 0 may have lost a small number beside a larger one: one deeper look.
            if (deeper or all(itertools.chain(*after))) and all(
                d <= self.mp.ldexp(abs(y), -_AGREEING) or d <= self.mp.ldexp(1, -_VALUE_AGREEING)
                for d, y in pairs
            ):
                break
        else:
            raise UnsettledError("the value changes with every precision it is computed in")
        shapes = [self._namespace.as_array(y).shape for y in self._centre(self._levels(0)[0])[2]]
        rounded = [
            [_entry(y, _SAFETY * d) for y, d in zip(*pair, strict=True)]
            for pair in zip(after, apart, strict=True)
        ]
        numbers = list(itertools.chain(*after))
        if numbers and all(math.isinf(bound) for _, bound in itertools.chain(*rounded)):
            _rounded(numbers[0], self.mp.mpf(0))
        values, bounds = (
            tuple(
                np.array([r[k] for r in y], np.float64).reshape(n)
                for y, n in zip(rounded, shapes, strict=True)
            )
            for k in (0, 1)
        )
        return values, bounds

    def _numbers(self, output: Any) -> list[Number]:
        return [self.mp.mpf(y) for y in self._namespace.as_array(output).ravel().tolist()]


def _number(mp: Any, fraction: Fraction) -> Number:
    return mp.mpf(fraction.numerator) / fraction.denominator


def _rounded(number: Number, bound: Number) -> tuple[float, float]:
    """`number` as a float64, and `bound` with that rounding added."""
    value = float(number)
    if not math.isfinite(value):
        raise OutOfRangeError(f"{number.context.nstr(number, 5)} is beyond float64")
    distance = bound + abs(number - value)
    return value, math.nextafter(float(distance), math.inf) if distance else 0.0


def _entry(number: Number, bound: Number) -> tuple[float, float]:
    """The same of one entry of many; beyond float64 the largest number, with an infinite bound."""
    if math.isinf(float(number)):
        return math.copysign(sys.float_info.max, float(number)), math.inf
    return _rounded(number, bound)

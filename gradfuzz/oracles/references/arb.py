"""The reference `arb`: enclosures of values and derivatives by ball arithmetic on truncated Taylor series.

F is evaluated along a line x + t d as a polynomial in t with k + 1 coefficients, each of them a ball that
provably contains the true number; the k-th one times k! is the derivative along the line. No rule of
differentiation is applied anywhere: x**3 is multiplied out, sin of a series is a series. What an `if` or a
selection compares must be decided by the balls: where they overlap, the precision is raised, and where that
does not help, or the two sides are equal here but not known to be equal nearby, the truth is inconclusive.

The arithmetic is Arb, in FLINT, through python-flint. (Johansson, "Arb: efficient arbitrary-precision
midpoint-radius interval arithmetic", 2017.)
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import flint
import numpy as np
from flint import arb, arb_series, fmpq

from gradfuzz.errors import DomainError, EvaluationError
from gradfuzz.oracles.base import Point, Question, Reference, Sides, Truth
from gradfuzz.oracles.references import arb_functions
from gradfuzz.oracles.references.arb_linalg import Eigenpairs, LinalgArb
from gradfuzz.oracles.references.arb_numbers import (
    Number,
    WideError,
    complex_function,
    constant_term,
    is_complex,
    nonzero,
    off_the_cut,
    pair,
    parts,
)
from gradfuzz.oracles.references.directions import (
    FREE_PHASES,
    Line,
    QuestionSetting,
    UnsettledError,
    inconclusive,
)
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError, UndecidedError
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.precision import Precision

PRECISIONS = (128, 1024)
"""Bits tried one after the other: enough for nearly everything, and for cancellation down to the smallest
float64.
"""

_NARROW = 70
"""A ball is narrow where its radius is 2^-70 of its middle: far below the rounding of float64."""

_NOTHING = arb(2) ** -1100
"""Less than any float64: a radius that is of no account."""

_ONE = arb(1)

_HERE = arb(0)
_BESIDE = arb(2) ** -300
"""How far from a point the slopes to its sides are taken."""

Entries: TypeAlias = np.ndarray[Any, np.dtype[np.object_]]


class ArbNamespace(LinalgArb):
    """Numbers that depend on the line are series, all others balls. `order` 0 is a plain evaluation: nothing
    moves.

    x + 0, 1 x and the like are x itself and 0 x is the constant 0, so that what is compared is known to be
    equal everywhere and not only here: 1 is the usual start of a product.
    """

    is_complex = staticmethod(is_complex)
    pair = staticmethod(pair)
    parts = staticmethod(parts)
    nonzero = staticmethod(nonzero)

    def __init__(
        self, precision: Precision = "float64", trace: list[int] | None = None, *, order: int = 0
    ) -> None:
        super().__init__(precision, trace)
        self.order = order
        self.eigenpairs = {}
        self.phases = 0
        self.turned = False

    def scalar(self, value: float | int) -> arb:
        return arb(value)

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        if isinstance(a, arb) and a.is_zero():
            return b
        return a if isinstance(b, arb) and b.is_zero() else a + b

    @staticmethod
    def minus(a: Any, b: Any) -> Any:
        return a if isinstance(b, arb) and b.is_zero() else a - b

    @staticmethod
    def times(a: Any, b: Any) -> Any:
        if isinstance(b, arb) and not isinstance(a, arb):
            a, b = b, a
        if isinstance(a, arb):
            if a == _ONE:
                return b
            if a.is_zero() and constant_term(b).is_finite():
                return a
        return a * b

    def choose(self, a: Any, b: Any) -> int:
        # Where all coefficients are equal, so are the derivatives of a, b, and their maximum.
        if isinstance(a, arb_series) or isinstance(b, arb_series):
            difference = a - b
            if all(difference[k].is_zero() for k in range(self.order + 1)):
                return 0
        return self.compare(a, b)

    def compare(self, a: Any, b: Any) -> int:
        if a is b:
            return 0
        difference = a - b
        here = constant_term(difference)
        if here > 0:
            return 1
        if here < 0:
            return -1
        if here.is_zero():
            if isinstance(difference, arb):
                return 0
            words = "the two sides of a comparison are equal here, but may differ nearby"
            raise UndecidedError(words, tie=True)
        if not here.is_finite():
            raise OutOfRangeError(f"a comparison meets a number of unknown size, {here.str(5)}")
        raise WideError(f"the two sides of a comparison may be equal: they differ by {here.str(5)}", tie=True)

    def quotient(self, a: Any, b: Any) -> Any:
        divisor = constant_term(b)
        if divisor.contains(0):
            if divisor.is_zero():
                raise DomainError("division by 0; the divisor must not be 0")
            raise WideError(f"division by {divisor.str(5)}, which may be 0")
        return a if isinstance(b, arb) and b == _ONE else a / b

    def power(self, a: Any, b: Any) -> Any:
        if is_complex(a):
            off_the_cut(a, "pow")
        else:
            _positive(a, "pow")
        return (b * a.log()).exp()

    def function(self, name: str, *args: Any, **params: int) -> Any:
        row, x = FUNCTIONS[name], args[-1]
        if is_complex(x):
            return complex_function(name, x, self.order)
        _inside(row, x, self.order)
        if name == "tanh":
            return self._tanh(x) if isinstance(x, arb_series) else x.tanh()
        if name in ("log1p", "expm1"):
            return _near_zero(name, x)
        try:
            result = arb_functions.call(row, args, params)
        except ZeroDivisionError as error:
            raise DomainError(f"{name} of {constant_term(x).str(5)}: division by 0") from error
        if not constant_term(result).is_finite():
            raise OutOfRangeError(f"{name} of {constant_term(x).str(5)} is not known to be finite")
        return result

    def whole(self, x: Any) -> int:
        here = constant_term(x)
        below, above = here.lower().floor(), here.upper().floor()
        count = below.unique_fmpz()
        if count is None or not below == above:
            raise WideError(f"the steps on both sides of {here.str(5)} are possible", tie=True)
        if isinstance(x, arb_series) and here == below:
            raise UndecidedError("a function with steps is at one of its jumps", tie=True)
        return int(count)

    def _tanh(self, x: arb_series) -> Any:
        """(1 - e) / (1 + e) with e = exp(-2|x|), which cannot overflow; FLINT has no tanh of a series."""
        below = x[0] < 0
        e = (2 * x if below else -2 * x).exp()
        quotient = self.quotient(1 - e, 1 + e)
        return -quotient if below else quotient


def _near_zero(name: str, x: Number) -> Number:
    """log1p or expm1; FLINT has no such functions of series, but of their constant terms, which alone could
    cancel.
    """
    here = getattr(constant_term(x), name)()
    if isinstance(x, arb):
        return here
    series = (1 + x).log() if name == "log1p" else x.exp()
    return arb_series([here, *(series[k] for k in range(1, series.prec))])


def _inside(row: Function, x: Number, order: int) -> None:
    """Whether x is in the domain: at a closed end a function has a value but no derivative."""
    here = constant_term(x)
    low, high = row.domain
    for distance in ([] if math.isinf(low) else [here - low]) + ([] if math.isinf(high) else [high - here]):
        if distance > 0 or (row.closed and order == 0 and distance.is_zero()):
            continue
        message = f"{row.name} of {here.str(5)}; the argument must be {row.where}"
        raise DomainError(message) if distance <= 0 else WideError(message)


def _positive(x: Number, op: str) -> None:
    """The ops that want a positive argument: at 0 sqrt has a value but no derivative."""
    here = constant_term(x)
    if not here > 0:
        message = f"{op} of {here.str(5)}; the argument must be positive"
        raise DomainError(message) if here <= 0 else WideError(message)


@contextlib.contextmanager
def working(bits: int, terms: int) -> Iterator[None]:
    """FLINT's precision and series length are global: they are put back."""
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec, flint.ctx.cap = bits, terms
    try:
        yield
    finally:
        flint.ctx.prec, flint.ctx.cap = before


class ArbReference(Reference):
    """Proved bounds, fast; inconclusive at every kink."""

    name = "arb"
    version = flint.__version__

    def truth(self, question: Question) -> list[Truth]:
        return [self._at(question, point) for point in question.points]

    def sides(self, question: Question) -> list[Sides | None]:
        """At 2^-300 of a line's length from the point: as exact as anywhere, since a kink is not there but at
        the point.
        """
        return [self._beside(question, point) for point in question.points]

    def _beside(self, question: Question, point: Point) -> Sides | None:
        with working(PRECISIONS[-1], question.order + 1):
            try:
                setting = QuestionSetting(question, point)
                sides = [_settled(setting, [], offset=sign * _BESIDE)[1] for sign in (-1, 1)]
                before, after = (setting.gradient([_rounded(ball)[0] for ball in side]) for side in sides)
            except EvaluationError:
                return None
            return (before, after) if all(map(_is_narrow, itertools.chain(*sides))) else None

    def _at(self, question: Question, point: Point) -> Truth:
        for bits in PRECISIONS:
            trace: list[int] = []
            last = bits == PRECISIONS[-1]
            try:
                setting = QuestionSetting(question, point)
                with working(bits, question.order + 1):
                    values, gradient = _settled(setting, trace)
                    if last or all(map(_is_narrow, _all_balls(values, gradient))):
                        return _truth(setting, values, gradient, trace)
            except EvaluationError as error:
                if last or not isinstance(error, (WideError, OutOfRangeError)):
                    return inconclusive(error, trace)
        raise AssertionError("the last precision always answers")


def _settled(
    setting: QuestionSetting, trace: list[int], *, offset: arb = _HERE
) -> tuple[list[Entries], list[arb]]:
    """The enclosures, where they do not depend on the phases of complex vectors: two results that do not meet
    show that they do.
    """
    eigenpairs: Eigenpairs = {}
    values, gradient, phases = _enclosures(setting, trace, eigenpairs, offset=offset)
    if phases and setting.question.order:
        others, other_gradient, _ = _enclosures(setting, [], eigenpairs, turned=True, offset=offset)
        pairs = zip(_all_balls(values, gradient), _all_balls(others, other_gradient), strict=True)
        if not all(a.overlaps(b) for a, b in pairs):
            raise UnsettledError(FREE_PHASES)
    return values, gradient


def _all_balls(values: Sequence[Entries], gradient: Sequence[arb]) -> list[arb]:
    return [*gradient, *(ball for output in values for ball in output.flat)]


def _enclosures(
    setting: QuestionSetting,
    trace: list[int],
    eigenpairs: Eigenpairs,
    *,
    turned: bool = False,
    offset: arb = _HERE,
) -> tuple[list[Entries], list[arb], int]:
    """Balls around the entries of each output and around each coordinate of the gradient; how many phases
    were free. With an `offset` at so much of each line from the point.
    """
    question = setting.question
    order = question.order
    values: list[Entries] = []
    gradient: list[arb] = []
    phases = 0

    def run(line: Line | None, steps: list[int]) -> arb:
        nonlocal phases
        namespace = ArbNamespace(question.precision, steps, order=order)
        namespace.eigenpairs, namespace.turned = eigenpairs, turned
        outputs = interpret(question.program, setting.inputs(line, arb, on_line), namespace, trace=steps)
        phases += namespace.phases
        if not values:
            values.extend(_balls(output, namespace) for output in outputs)
        total: Number = setting.total(outputs, arb)
        return arb(0) if isinstance(total, arb) else total[order]

    def on_line(x: float, v: float, s: float) -> arb_series:
        if offset is _HERE and not v:
            return arb_series([x, s])
        slope = arb(v) + s
        return arb_series([arb(x) if offset is _HERE else arb(x) + offset * slope, slope])

    if not setting.probes:
        run(None, trace)
    steps = trace
    for shares in setting.lines():
        total = arb(0)
        for line in shares:
            total += arb(fmpq(line.weight.numerator, line.weight.denominator)) * run(line, steps)
            steps = []
        gradient.append(total * math.factorial(order))
    return values, gradient, phases


def _balls(output: Any, namespace: ArbNamespace) -> Entries:
    """The values of an output; those of int and bool outputs are exact."""
    array = namespace.as_array(output)
    result = np.empty(array.shape, object)
    for k, y in enumerate(array.flat):
        result.flat[k] = constant_term(y) if array.dtype == object else arb(int(y))
    return result


def _is_narrow(ball: arb) -> bool:
    radius = ball.rad()
    return bool(radius <= _NOTHING or radius <= abs(ball.mid()) * arb(2) ** -_NARROW)


def _rounded(ball: arb) -> tuple[float, float]:
    """The middle as a float64, 0 for a ball that holds 0; and how far from it the true number may be."""
    value = float(ball.mid()) if ball.is_finite() else math.inf
    if not math.isfinite(value):
        raise OutOfRangeError(f"{ball.str(5)} is beyond float64, or not known to be finite")
    value = 0.0 if 0 in ball else value
    distance = abs(ball - arb(value)).upper()
    bound = 0.0 if distance.is_zero() else math.nextafter(float(distance), math.inf)
    if not math.isfinite(bound):
        width = distance.str(5)
        raise UnsettledError(f"the enclosure of a number is as wide as {width}: the loop loses all digits")
    return value, bound


def _entry(ball: arb) -> tuple[float, float]:
    """The same of one entry of many; beyond float64 the largest number, with an infinite bound."""
    middle = float(ball.mid())
    if math.isinf(middle) and ball.is_finite():
        return math.copysign(sys.float_info.max, middle), math.inf
    return _rounded(ball)


def _truth(
    setting: QuestionSetting, values: Sequence[Entries], gradient: Sequence[arb], trace: Sequence[int]
) -> Truth:
    entries = [_entry(ball) for ball in gradient]
    outputs = [(output.shape, [_entry(ball) for ball in output.flat]) for output in values]
    for balls, found in ((gradient, entries), (_all_balls(values, ()), [y for _, ys in outputs for y in ys])):
        if found and all(math.isinf(bound) for _, bound in found):
            _rounded(balls[0])
    middles, bounds = (
        tuple(np.array([r[k] for r in y], np.float64).reshape(shape) for shape, y in outputs) for k in (0, 1)
    )
    return Truth(
        "ok",
        values=middles,
        value_bounds=bounds,
        gradient=setting.gradient([value for value, _ in entries]),
        bounds=setting.gradient([bound for _, bound in entries]),
        trace=tuple(trace),
    )

"""A graph in balls: its value at a point, and its derivatives along straight lines.

Nothing rounds. A conversion between float dtypes is the number itself, and a constant is the number that the
library has, digit for digit: what is enclosed is the formula.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_series

from gradfuzz.errors import DomainError
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.references.arb import PRECISIONS, ArbNamespace, working
from gradfuzz.oracles.references.arb_linalg import Eigenpairs
from gradfuzz.oracles.references.arb_numbers import WideError, constant_term, is_complex
from gradfuzz.oracles.references.directions import FREE_PHASES, UnsettledError
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError
from gradfuzz.programs.evaluation.interpret import evaluate
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Format, Precision, is_float

DIGITS = 30
"""An enclosure counts where it has so many digits."""

SAME = 64 * FORMATS["float64"].roundoff
"""A rule that differs by a smaller share is the derivative of an approximation that is as good as float64."""

KERNELS = 1024.0
"""An answer may be off by so many times what rounding does to the traced rule, which is three digits: the
library's own kernels and iterations go other ways.
"""

_LARGEST_EXPONENT = 2**31

_FOLDED = 32
"""A constant may have been computed: so many roundings of the number that is meant."""

_NARROW = arb(2) ** -math.ceil(DIGITS * math.log2(10))


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A number between `middle` - `radius` and `middle` + `radius`, without a doubt."""

    ball: arb

    @property
    def middle(self) -> float:
        """The float64 next to the middle."""
        return float(self.ball.mid())

    def text(self, digits: int = DIGITS) -> str:
        """The middle, rounded to so many digits."""
        return str(self.ball.mid().str(digits, radius=False))

    def meets(self, other: Enclosure) -> bool:
        """Whether both may be one number."""
        return bool(self.ball.overlaps(other.ball))

    def apart(self, other: Enclosure) -> float:
        """How far the two are from each other, as a share of `other`; of what is 0, in itself."""
        size = abs(other.ball.mid())
        distance = abs(self.ball.mid() - other.ball.mid())
        return float(distance if size == 0 else distance / size)

    @property
    def is_narrow(self) -> bool:
        """Whether it has `DIGITS` digits; 0 has."""
        radius = self.ball.rad()
        return bool(self.ball.is_finite() and (radius == 0 or radius <= abs(self.ball.mid()) * _NARROW))


class Balls(ArbNamespace):
    """As in the libraries, a term that is not defined is no number, and spoils only what it goes into: where
    a branch is not chosen, nothing. `reasons` says what was not defined.

    `rounded`: constants of more digits than a library would write by hand stand for any number that rounds to
    them in this precision, except for those whose absolute value is `known`.
    """

    def __init__(self, order: int, rounded: Precision | None, known: frozenset[float] = frozenset()) -> None:
        super().__init__(order=order)
        self.reasons: list[str] = []
        self._format = None if rounded is None else FORMATS[rounded]
        self._known = known

    def constant(self, value: float | int | complex) -> Any:
        if isinstance(value, complex):
            return self.pair(self.constant(value.real), self.constant(value.imag))
        if math.isnan(value):
            return self._undefined("a constant is NaN")
        if self._format is None or not math.isfinite(value) or abs(value) in self._known:
            return arb(value)
        if _is_short(value, self._format):
            return arb(value)
        return arb(value, abs(value) * self._format.roundoff * _FOLDED)

    def quotient(self, a: Any, b: Any) -> Any:
        return self._defined(super().quotient, a, b)

    def power(self, a: Any, b: Any) -> Any:
        if isinstance(b, arb) and b.is_integer() and abs(b) <= _LARGEST_EXPONENT and not is_complex(a):
            return self._integer_power(a, int(float(b)))  # in libraries, of a number below 0, too
        return self._defined(super().power, a, b)

    def function(self, name: str, *args: Any, **params: int) -> Any:
        end = _AT_INFINITY.get(name)
        if end is not None and isinstance(args[0], arb) and args[0] == end[0]:
            return end[1]
        found = self._defined(super().function, name, *args, **params)
        return arb(0) if isinstance(found, arb) and abs(found) < _NOTHING else found

    def compare(self, a: Any, b: Any) -> int:
        infinite = [x for x in (a, b) if isinstance(x, arb) and not x.is_finite() and not x.is_nan()]
        if infinite and not any(constant_term(x).is_nan() for x in (a, b)):
            here, there = constant_term(a), constant_term(b)
            return int(here > there) - int(here < there)
        return super().compare(a, b)

    def _defined(self, compute: Callable[..., Any], *args: Any, **params: Any) -> Any:
        try:
            return compute(*args, **params)
        except (DomainError, OutOfRangeError, WideError) as error:
            return self._undefined(str(error))

    def _undefined(self, reason: str) -> Any:
        self.reasons.append(reason)
        return arb_series([arb.nan()] * (self.order + 1)) if self.order else arb.nan()


_NOTHING = arb(2) ** -1_000_000
"""Less than this is 0 to every dtype, also where its logarithm is taken."""

_AT_INFINITY = {"exp": (arb("-inf"), arb(0)), "log": (arb(0), arb("-inf"))}
"""What libraries say of arguments at the end: a sum of logarithms begins with -inf."""


def _is_short(value: float, form: Format) -> bool:
    """Whether a number has no more than half of the digits of a format, as 0.5 and 3."""
    mantissa, _ = math.frexp(value)
    digits = math.ceil(-math.log2(form.roundoff) / 2)
    return (mantissa * 2.0**digits).is_integer()


def value(
    graph: Graph,
    inputs: Sequence[Array],
    *,
    rounded: Precision | None = None,
    parameter: arb | None = None,
) -> Enclosure:
    """The one number that a graph gives. A `parameter` is its last input, a number as it is.

    `EvaluationError` with the reason where it is not known.
    """
    given = [_numbers(x) for x in inputs] + ([] if parameter is None else [parameter])
    return _tried(lambda: _run(graph, given, 0, {}, rounded)[0], 1)


def rounding(graph: Graph, inputs: Sequence[Array], precision: Precision) -> float:
    """By how much the number that a graph gives may be off if each step is rounded to `precision`."""
    with working(_bits(precision), 1):
        return float(_run(graph, [_numbers(x) for x in inputs], 0, {}, None)[0].rad())


@dataclass(frozen=True, slots=True, eq=False)
class Enclosed:
    """An array of balls: the float64 numbers next to their middles, and how far what they enclose may be from
    these.
    """

    middle: Array
    radius: Array


def enclosures(
    graph: Graph, inputs: Sequence[Array], *, rounded: Precision, known: frozenset[float]
) -> list[Enclosed]:
    """All outputs of a graph. Constants of the graph beside the `known` ones may be `rounded`.

    `EvaluationError` with the reason where they are not known.
    """
    for bits in PRECISIONS:
        try:
            with working(bits, 1):
                found = _outputs(graph, inputs, Balls(0, rounded, known))
            if all(np.all(np.isfinite(one.middle)) for one in found):
                return found
        except (WideError, OutOfRangeError):
            if bits == PRECISIONS[-1]:
                raise
    return found


def roundings(graph: Graph, inputs: Sequence[Array], precision: Precision) -> list[Array]:
    """By how much the outputs of a graph may be off if each step is rounded to `precision`."""
    with working(_bits(precision), 1):
        return [one.radius for one in _outputs(graph, inputs, Balls(0, None))]


def _bits(precision: Precision) -> int:
    return round(-math.log2(FORMATS[precision].roundoff))


def _outputs(graph: Graph, inputs: Sequence[Array], namespace: Balls) -> list[Enclosed]:
    namespace.eigenpairs = {}
    outputs = evaluate(graph, [_numbers(x) for x in inputs], namespace)
    return [_enclosed(output) for output in outputs]


def _enclosed(output: Any) -> Enclosed:
    boxed = np.asarray(output, object)
    middle, radius = np.empty(boxed.shape), np.empty(boxed.shape)
    for place in np.ndindex(boxed.shape):
        ball = arb(boxed[place])
        middle[place], radius[place] = float(ball.mid()), float(ball.rad())
        middle[place] = middle[place] if ball.is_finite() else math.nan
    return Enclosed(middle, radius + np.abs(middle) * FORMATS["float64"].roundoff)


def derivative(
    graph: Graph,
    inputs: Sequence[Array],
    lines: Sequence[Sequence[Array]],
    *,
    rounded: Precision | None = None,
) -> Enclosure:
    """The derivative of that number along `lines`, one after the other.

    With the coefficient c(d) of t^k of f(x + t d), a mixed one is the mean of s_2 ... s_k c(v_1 + s_2 v_2 +
    ... + s_k v_k) over all signs s. `UnsettledError` where it depends on the phases of complex vectors.
    """
    order = len(lines)

    def mixed(eigenpairs: Eigenpairs, *, turned: bool = False) -> tuple[arb, int]:
        total, phases = arb(0), 0
        for signs in itertools.product((1, -1), repeat=order - 1):
            sums = [_sum(own, (1, *signs)) for own in zip(*lines, strict=True)]
            moving = [_on_line(x, v) for x, v in zip(inputs, sums, strict=True)]
            found, free = _run(graph, moving, order, eigenpairs, rounded, turned=turned)
            total += math.prod(signs) * found
            phases += free
        return total / 2 ** (order - 1), phases

    def settled() -> arb:
        eigenpairs: Eigenpairs = {}
        found, phases = mixed(eigenpairs)
        if phases and not found.overlaps(mixed(eigenpairs, turned=True)[0]):
            raise UnsettledError(FREE_PHASES)
        return found

    return _tried(settled, order + 1)


def _tried(compute: Callable[[], arb], terms: int) -> Enclosure:
    for bits in PRECISIONS:
        last = bits == PRECISIONS[-1]
        try:
            with working(bits, terms):
                found = Enclosure(compute())
            if found.is_narrow or last:
                return found
        except (WideError, OutOfRangeError):
            if last:
                raise
    raise AssertionError("the last precision always answers")


def _run(
    graph: Graph,
    inputs: Sequence[Any],
    order: int,
    eigenpairs: Eigenpairs,
    rounded: Precision | None,
    *,
    turned: bool = False,
) -> tuple[arb, int]:
    """The number that a graph gives, or its derivative, and how many phases were free."""
    namespace = Balls(order, rounded)
    namespace.eigenpairs, namespace.turned = eigenpairs, turned
    (total,) = evaluate(graph, inputs, namespace)
    if isinstance(total, np.ndarray):
        total = total[()]
    ball = constant_term(total) if not order else arb(0) if isinstance(total, arb) else total[order]
    if namespace.reasons and not ball.is_finite():
        raise OutOfRangeError(namespace.reasons[0])
    return ball, namespace.phases


def _numbers(x: Array) -> Any:
    """Floats as exact numbers; ints and bools as they are."""
    if not is_float(x.dtype):
        return x if x.shape else x.item()
    return _each(arb, x.astype(np.float64))


def _sum(lines: Sequence[Array], signs: Sequence[int]) -> Any:
    return functools.reduce(np.add, [s * _numbers(v) for s, v in zip(signs, lines, strict=True)])


def _on_line(x: Array, along: Any) -> Any:
    """X + t v; an entry that does not move is a constant."""
    if not is_float(x.dtype):
        return _numbers(x)
    return _each(lambda a, v: arb(a) if v.is_zero() else arb_series([arb(a), v]), x.astype(np.float64), along)


def _each(make: Callable[..., Any], *arrays: Any) -> Any:
    boxed = [np.asarray(a, object) for a in arrays]
    shape = boxed[0].shape
    result = np.empty(shape, object)
    for place in np.ndindex(shape):
        result[place] = make(*(b[place] for b in boxed))
    return result[()] if len(shape) == 0 else result

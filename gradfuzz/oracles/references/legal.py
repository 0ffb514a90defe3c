"""Enclosures of every gradient that legal choices at ties can make.

At a tie an op may choose: the maximum of two equal numbers has any mean of their slopes, and so has abs at 0.
A branch takes one side, and rounding may take the other. The slope of a tie is a ball around all slopes that
may be chosen, and balls carry that through the rest of the program. An entry of a gradient outside of its
ball follows from no choices. An entry inside may follow from none either, since choices that belong together
are taken apart. Where the program is not defined, the entries that do not lead there have a ball all the
same.

(Clarke, "Optimization and nonsmooth analysis", 1983, section 2.3: generalized gradients of maxima, of sums
and of compositions.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import acb_series, arb, arb_series

from gradfuzz.errors import EvaluationError
from gradfuzz.oracles.base import Array, Point, Question
from gradfuzz.oracles.references.arb import PRECISIONS, working
from gradfuzz.oracles.references.arb_numbers import Number, constant_term
from gradfuzz.oracles.references.balls import Balls
from gradfuzz.oracles.references.directions import Line, QuestionSetting
from gradfuzz.programs.arithmetic.object_namespace import UndecidedError
from gradfuzz.programs.arithmetic.tensor_objects import of_numbers
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import Precision, rounded

Ends = tuple[Mapping[str, Array], Mapping[str, Array]]
"""The lowest and the highest legal numbers of each input, entry by entry: infinite where they are not known.
"""

_SIDES = (0, -1, 1)
"""What a comparison of equal numbers may say: that they are equal, or less or greater by rounding."""

_MOST = 400
"""More entries are not enclosed: a program is run up to three times for each."""


class _Choices(Balls):
    """At a tie a selection is a ball around what it selects from, and every comparison says the same `side`.

    A selection of places, as by argmax, stays undecided.
    """

    def __init__(self, precision: Precision, side: int, near: float = 0.0) -> None:
        super().__init__(1, None)
        self.precision, self.side, self.near = precision, side, near
        self.asked = False
        """Whether the side made a difference."""

    def constant(self, value: float | int | complex) -> Any:
        """As a program in this precision has it: x may be equal to that, and not to all of its digits."""
        return super().constant(value if isinstance(value, complex) else rounded(value, self.precision))

    def compare(self, a: Any, b: Any) -> int:
        try:
            return self._compared(a, b)
        except UndecidedError as error:
            return self._at_tie(error)

    def _compared(self, a: Any, b: Any) -> int:
        apart = abs(constant_term(a - b))
        if self.near and apart <= self.near and not apart.is_zero():
            raise UndecidedError("rounding may make two numbers equal", tie=True)
        return super().compare(a, b)

    def _defined(self, compute: Callable[..., Any], *args: Any, **params: Any) -> Any:
        """What does not move has a value at the end of a domain, and spoils no slope where it has none."""
        self.order = int(any(isinstance(x, (arb_series, acb_series)) for x in args))
        try:
            return super()._defined(compute, *args, **params)
        finally:
            self.order = 1

    def whole(self, x: Any) -> int:
        try:
            return super().whole(x)
        except UndecidedError as error:
            return math.floor(float(constant_term(x))) - (self._at_tie(error) < 0)

    def _at_tie(self, error: UndecidedError) -> int:
        if not error.tie:
            raise error
        self.asked = True
        return self.side

    def choose(self, a: Any, b: Any) -> int:
        """Undecided at a tie: who selects by value takes a ball, and who selects a place cannot."""
        difference = a - b
        if isinstance(difference, arb_series) and all(difference[k].is_zero() for k in (0, 1)):
            return 0
        return self._compared(a, b)

    # Selections

    def _level(self, a: Any, b: Any) -> int:
        """`choose`, and 0 at a tie."""
        try:
            return self.choose(a, b)
        except UndecidedError as error:
            if error.tie:
                return 0
            raise

    def _greater(self, a: Any, b: Any, sign: int = 1) -> Any:
        level = sign * self._level(a, b)
        return _around(a, b) if level == 0 else a if level > 0 else b

    def _smaller(self, a: Any, b: Any) -> Any:
        return self._greater(a, b, -1)

    def _absolute(self, x: Any) -> Any:
        return super()._absolute(x) if self.is_complex(x) else self._greater(x, -x)

    def maximum(self, a: Any, b: Any) -> Any:
        return self._each(self._greater, np.maximum, a, b)

    def minimum(self, a: Any, b: Any) -> Any:
        return self._each(self._smaller, np.minimum, a, b)

    @of_numbers(np.max)
    def amax(self, x: Any, *, axis: Any, keepdims: bool) -> Any:
        return self.over(functools.partial(functools.reduce, self._greater), x, axis, keepdims)

    @of_numbers(np.min)
    def amin(self, x: Any, *, axis: Any, keepdims: bool) -> Any:
        return self.over(functools.partial(functools.reduce, self._smaller), x, axis, keepdims)

    @of_numbers(np.maximum.accumulate)
    def cumulative_max(self, x: Array, *, axis: int) -> Array:
        return self._scan(self._greater, x, axis)

    @of_numbers(np.sort)
    def sort(self, x: Array, *, axis: int) -> Array:
        return self._along(self._sorted, x, axis)

    def _sorted(self, row: Sequence[Any]) -> list[Any]:
        """In ascending order; each of equal ones is a ball around all of them."""
        groups: list[list[Any]] = []
        for x in sorted(row, key=functools.cmp_to_key(self._level)):
            if groups and self._level(groups[-1][0], x) == 0:
                groups[-1].append(x)
            else:
                groups.append([x])
        return [x for group in groups for x in [functools.reduce(_around, group)] * len(group)]


def _around(a: Number, b: Number) -> Number:
    """A ball around two numbers, and one around their slopes."""
    if a is b:
        return a
    here, there = constant_term(a), constant_term(b)
    return arb_series([here if here == there else here.union(there), _slope(a).union(_slope(b))])


def _slope(x: Number) -> arb:
    return x[1] if isinstance(x, arb_series) else arb(0)


def legal_gradients(question: Question, point: Point, near: float = 0.0) -> Ends | None:
    """The ends of what is legal at a point, for a question of order one; None where nothing is known. Numbers
    that are as `near` to each other as that are equal, too.
    """
    try:
        setting = QuestionSetting(question, point)
        lines = list(setting.lines())
        if len(lines) > _MOST:
            return None
        with working(PRECISIONS[0], 2):
            balls = [_ball(setting, line, near) for (line,) in lines]
    except EvaluationError:
        return None
    low, high = ([_end(ball, sign) for ball in balls] for sign in (-1, 1))
    return (setting.gradient(low), setting.gradient(high)) if any(map(math.isfinite, low)) else None


def _ball(setting: QuestionSetting, line: Line, near: float) -> arb:
    """A ball around what is legal along a line: NaN where that is not known."""
    ball = None
    for side in _SIDES:
        namespace = _Choices(setting.question.precision, side, near)
        inputs = setting.inputs(line, arb, lambda x, _, s: arb_series([x, s]))
        try:
            outputs = interpret(setting.question.program, inputs, namespace)
        except EvaluationError:
            return arb.nan()
        slope = _slope(setting.total(outputs, arb))
        ball = slope if ball is None else ball.union(slope)
        if not namespace.asked:
            break
    return ball


def _end(ball: arb, sign: int) -> float:
    """The float at the lower or the upper end of a ball, or beyond it."""
    if not ball.is_finite():
        return sign * math.inf
    return math.nextafter(float(ball.lower() if sign < 0 else ball.upper()), sign * math.inf)

"""Derivatives of any order from derivatives along straight lines: what both references measure.

A question of order k asks for the gradient g of D^{k-1}F[v, ..., v], so for each coordinate i it wants the
mixed derivative g_i = D^kF[e_i, v, ..., v], or for a probe w in place of e_i the product <g, w>. A reference
that knows only p(d) = (d/dt)^k F(x + t d) at t = 0, the derivative along one line, has it by polarisation.
With the symmetric multilinear form D^kF,

    p(v + s e_i) = sum over j of binom(k, j) s^j D^kF[e_i (j times), v (k - j times)]

is a polynomial in s, and k g_i is its coefficient of s. Its odd part is known at s = 1, ..., m, m =
ceil(k/2), and Lagrange interpolation in s^2, read at 0, gives the coefficient:

    g_i = 1/(2k) sum over s of w_s (p(v + s e_i) - p(v - s e_i)),
    w_s = 1/s prod over r != s of r^2 / (r^2 - s^2).

For k = 2 this is (p(v + e_i) - p(v - e_i)) / 4. For k = 1 it is p(e_i), and for a single scalar input v^{k-1}
p(1). (Griewank, Utke, Walther, "Evaluating higher derivative tensors by forward propagation of univariate
Taylor series", 2000.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gradfuzz.errors import DomainError, EvaluationError, TripLimitError
from gradfuzz.oracles.base import ALONG, Array, Doubt, Point, ProbedQuestion, Question, Truth
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError, UndecidedError


class UnsettledError(EvaluationError):
    """Measurements that should agree do not: the derivative is too large or too rough for them."""


FREE_PHASES = "the result depends on phases that a decomposition of a complex matrix leaves free"
"""Why a derivative is not settled."""


Moves = Mapping[str, Mapping[int, float]]
"""By input the entries of a direction that are not 0, each by its place in the raveled array."""


@dataclass(frozen=True, slots=True)
class Line:
    """The line x + t d with d = `multiple` w, plus v where `along_direction`, and its share in <g, w>; w is
    the probe numbered `probe`, which may be a coordinate direction e_i.
    """

    probe: int
    multiple: int
    along_direction: bool
    weight: Fraction


def lines(order: int, probes: int, single: float | None = None) -> Iterator[list[Line]]:
    """For each probe w the lines whose order-k derivatives, each times its weight, add up to <g, w>. `single`
    is the direction's entry where there is but one entry, and w is 1 there.
    """
    nodes = range(1, (order + 1) // 2 + 1)
    for i in range(probes):
        if order == 1 or single is not None:
            yield [Line(i, 1, False, Fraction(1.0 if single is None else single) ** (order - 1))]
            continue
        result = []
        for s in nodes:
            lagrange = math.prod(Fraction(r * r, r * r - s * s) for r in nodes if r != s)
            weight = Fraction(lagrange) / (2 * order * s)
            result += [Line(i, s, True, weight), Line(i, -s, True, -weight)]
        yield result


class QuestionSetting:
    """A question at one point, taken apart once: a reference runs the program many times there.

    Raises `DomainError` for an input that is not finite.
    """

    def __init__(self, question: Question, point: Point) -> None:
        self.question = question
        self.probes: list[Moves] = []
        """The coordinate directions of the inputs in `wrt`, in order, unless others are asked for; none where
        the value alone is.
        """
        self.smallest = math.inf
        self.largest = 0.0
        """The ends of the absolute values of all float inputs' entries that are not 0."""
        self._fixed: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}
        """The float inputs as numbers of the reference, made once: one setting serves one kind of number."""
        self._floats: list[tuple[str, tuple[int, ...], list[float]]] = []
        self._shapes: list[tuple[str, tuple[int, ...]]] = []
        self._weights = [None if w is None else _entries(w) for w in question.weights]
        for param in question.program.params:
            value = np.asarray(point.inputs[param.name])
            if param.type.dtype == "float":
                self._add_floats(param.name, np.asarray(value, np.float64))
            else:
                self._fixed[param.name] = value if value.shape else value.item()
        self._direction: dict[str, Mapping[int, float]] = {}
        for name in question.wrt if question.order > 1 else ():
            self._direction[name] = _moving(question.directions[name])
        if isinstance(question, ProbedQuestion):
            self._shapes.append((ALONG, (len(question.probes),)))
            for probe in question.probes:
                self.probes.append({name: _moving(array) for name, array in probe.items()})
            return
        for name in question.wrt if question.order else ():
            shape = np.shape(point.inputs[name])
            self._shapes.append((name, shape))
            self.probes += [{name: {k: 1.0}} for k in range(math.prod(shape))]

    def lines(self) -> Iterator[list[Line]]:
        """For each probe the lines that make it."""
        single = None
        if (
            len(self.probes) == 1
            and self.question.order > 1
            and not isinstance(self.question, ProbedQuestion)
        ):
            (name,) = self.probes[0]
            single = self._direction[name].get(0, 0.0)
        return lines(self.question.order, len(self.probes), single)

    def _add_floats(self, name: str, value: Array) -> None:
        finite = np.isfinite(value)
        if not np.all(finite):
            x = float(value[~finite][0])
            raise DomainError(f"the input {name} is {x}; a derivative needs finite inputs")
        self._floats.append((name, value.shape, value.ravel().tolist()))
        sizes = np.abs(value[value != 0.0])
        self.smallest = min(self.smallest, float(np.min(sizes, initial=math.inf)))
        self.largest = max(self.largest, float(np.max(sizes, initial=0.0)))

    def inputs(
        self, line: Line | None, number: Callable[[float], Any], on_line: Callable[[float, float, float], Any]
    ) -> dict[str, Any]:
        """The program's inputs on a line (None: at the point).

        `number(x)` makes a constant and `on_line(x, v, s)` the number x + t (v + s), both from exact floats;
        an entry that the line leaves alone is a constant.
        """
        probe: Moves = {} if line is None else self.probes[line.probe]
        direction: Moves = self._direction if line is not None and line.along_direction else {}
        inputs = dict(self._fixed)
        for name, shape, floats in self._floats:
            by_probe, by_direction = probe.get(name, {}), direction.get(name, {})
            if line is not None and len(by_probe) == len(floats):
                array = np.empty(len(floats), object)
            else:
                if name not in self._constants:
                    self._constants[name] = _numbers(floats, number)
                array = self._constants[name].copy()
            if line is not None:
                times = line.multiple
                for k, w in by_probe.items():
                    array[k] = on_line(
                        floats[k], by_direction.get(k, 0.0) if by_direction else 0.0, times * w
                    )
                for k in by_direction.keys() - by_probe.keys():
                    array[k] = on_line(floats[k], by_direction[k], 0.0)
            inputs[name] = array.reshape(shape) if shape else array[0]
        return inputs

    def total(self, outputs: tuple[Any, ...], number: Callable[[float], Any]) -> Any:
        """F: the sum of the float outputs' entries, each times its weight."""
        total = number(0.0)
        for output, weights in zip(outputs, self._weights, strict=True):
            if weights is not None:
                entries = output.ravel() if isinstance(output, np.ndarray) else [output]
                for weight, y in zip(weights, entries, strict=True):
                    if weight:
                        total = total + (y if weight == 1.0 else number(weight) * y)
        return total

    def gradient(self, entries: list[float]) -> Mapping[str, Array]:
        """One float per probe as one float64 array per differentiated input, or as the products."""
        result: dict[str, Array] = {}
        rest = iter(entries)
        for name, shape in self._shapes:
            result[name] = np.array([next(rest) for _ in range(math.prod(shape))], np.float64).reshape(shape)
        return result


def _entries(array: Array) -> list[float]:
    entries: list[float] = np.asarray(array, np.float64).ravel().tolist()
    return entries


def _numbers(floats: Sequence[float], number: Callable[[float], Any]) -> Any:
    array = np.empty(len(floats), object)
    for k, x in enumerate(floats):
        array[k] = number(x)
    return array


def _moving(array: Array) -> Mapping[int, float]:
    """The entries of a direction that are not 0."""
    entries = np.asarray(array, np.float64).ravel()
    places = np.flatnonzero(entries)
    return dict(zip(places.tolist(), entries[places].tolist(), strict=True))


def inconclusive(error: EvaluationError, trace: Sequence[int] = ()) -> Truth:
    """The truth that cannot be told, and why."""
    tie = isinstance(error, UndecidedError) and error.tie
    if tie:
        doubt = Doubt.KINK
    elif isinstance(error, TripLimitError):
        doubt = Doubt.TRIP_LIMIT
    elif isinstance(error, OutOfRangeError):
        doubt = Doubt.RANGE
    elif isinstance(error, UnsettledError):
        doubt = Doubt.WIDE
    else:
        doubt = Doubt.DOMAIN
    return Truth.unknown(doubt, str(error), kink=tie, trace=tuple(trace))

"""What is proved: a function of a framework, weighted and along lines, and the derivative that the framework
would run, both as graphs.

A sum of weight * output makes one number of the outputs, and a derivative along fixed random lines one of its
gradient: a wrong entry, whichever it is, moves it. The lines of a derivative of second order are different
ones, so that a Hessian that should be symmetric and is not moves it, too.
"""

from __future__ import annotations

import inspect
import keyword
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradfuzz.errors import UntraceableError
from gradfuzz.fuzzer.measuring.subject import Subject, on_lines
from gradfuzz.libraries.library import Wanted
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, is_float

_STEPS = 8.0
"""Weights and lines are multiples of 1/8 between -2 and 2, exact in every dtype."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A subject at a point: `values` of all its inputs, a weight for each float output, and a line for each
    differentiation, which has an array for each differentiated input.
    """

    subject: Subject
    values: tuple[Array, ...]
    weights: tuple[Array | None, ...]
    lines: tuple[tuple[Array, ...], ...]
    modes: tuple[Mode, ...]
    value: float | None
    """The number that is differentiated, as the framework computes it; None where it was not asked."""
    _traced: list[Graph] = field(default_factory=list)
    """The function as a graph, once it is known; the settings of other modes share it."""

    @classmethod
    def of(cls, subject: Subject, modes: Sequence[Mode], factor: float = 1.0, seed: int = 0) -> Setting:
        """The subject at its inputs times `factor`. Raises what the function raises."""
        rng = np.random.default_rng(seed)
        values = tuple(
            (i.value * i.value.dtype.type(factor)) if i.kind == "float" else i.value for i in subject.inputs
        )
        outputs = subject.values(values)
        weights = tuple(_drawn(rng, y.shape) if is_float(y.dtype) else None for y in outputs)
        shapes = [values[k].shape for k in subject.wrt]
        lines = tuple(tuple(_drawn(rng, shape) for shape in shapes) for _ in modes)
        pairs = zip(outputs, weights, strict=True)
        value = float(sum(np.sum(w * y.astype(np.float64)) for y, w in pairs if w is not None))
        return cls(subject, values, weights, lines, tuple(modes), value)

    def elsewhere(self, seed: int) -> Setting:
        """The same with other weights and lines, at inputs between 3/4 and 5/4 of these."""
        rng = np.random.default_rng(seed)

        def moved(x: Array) -> Array:
            return np.asarray(x * (1.0 + rng.integers(-16, 17, x.shape) / 64.0), x.dtype)

        values = tuple(moved(x) if is_float(x.dtype) else x for x in self.values)
        weights = tuple(None if w is None else _drawn(rng, w.shape) for w in self.weights)
        lines = tuple(tuple(_drawn(rng, v.shape) for v in line) for line in self.lines)
        return replace(self, values=values, weights=weights, lines=lines, value=None, _traced=[])

    @property
    def inputs(self) -> list[Array]:
        """The differentiated inputs."""
        return [self.values[k] for k in self.subject.wrt]

    @property
    def given(self) -> list[Array]:
        """What the graphs take: the differentiated inputs, the weights, and the lines. None of these is a
        constant of the rule.
        """
        dtype = FORMATS[self.subject.precision].dtype
        fixed = [w for w in self.weights if w is not None] + [v for line in self.lines for v in line]
        return [*self.inputs, *(np.asarray(x, dtype) for x in fixed)]

    @property
    def moving(self) -> list[list[Array]]:
        """The lines, as lines of all that the graphs take."""
        still = [np.zeros(x.shape) for x in self.given[len(self.inputs) :]]
        return [[*line, *still] for line in self.lines]

    def total(self, *given: Any) -> Any:
        """The number that is differentiated, of the framework's arrays."""
        xs, weights, _ = self._apart(given)
        pairs = zip(self._called(*xs), weights, strict=True)
        terms = [(y * w).sum() for y, w in pairs if w is not None]
        return sum(terms[1:], terms[0])

    def slope(self, *given: Any) -> Any:
        """Its derivative along the lines, by the framework, of the framework's arrays."""
        xs, weights, lines = self._apart(given)
        ask = self.subject.framework.derivative
        if self.modes[-1] == "rev":
            pairs = zip(self.gradient(*given), lines[-1], strict=True)
            terms = [(g * v).sum() for g, v in pairs]
            return sum(terms[1:], terms[0])
        numbers = np.zeros(len(lines) + 1, FORMATS[self.subject.precision].dtype)
        numbers[-1] = 1.0
        *ts, one = [self.subject.framework.array(number, xs[0]) for number in numbers]
        wanted = Wanted(weights, [one, *ts[1:]], self.modes)
        _, gradient = ask(on_lines(self._called, xs, lines), ts, wanted)
        return gradient[-1]

    def gradient(self, *given: Any) -> tuple[Any, ...]:
        """Its gradient by the framework, an array for each differentiated input."""
        xs, weights, lines = self._apart(given)
        ask = self.subject.framework.derivative
        return tuple(ask(self._called, xs, Wanted(weights, lines[0], self.modes))[1])

    def graph_of_gradient(self) -> Graph:
        """The gradient as a graph; `UntraceableError` where there is none."""
        return self._graph(self.gradient, derivative=True)

    def graph_of_push(self) -> Graph:
        """The slope along the line in forward mode, as it is asked for each entry."""
        return self._graph(self._pushed, derivative=True)

    def _pushed(self, *given: Any) -> Any:
        xs, weights, (line,) = self._apart(given)
        found = self.subject.framework.push(self._called, xs, Wanted(weights, modes=self.modes), line)
        if found is None:
            raise UntraceableError("its forward mode is not asked along a line")
        return found[1]

    def each_entry(self) -> list[list[Array]]:
        """What that graph takes for the entries of the gradient, one after the other."""
        shapes = [x.shape for x in self.inputs]
        units = np.eye(sum(map(math.prod, shapes)))
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        fixed = self.given[: -len(shapes)]
        rows = (zip(np.split(unit, ends), shapes, strict=True) for unit in units)
        return [[*fixed, *(part.reshape(shape) for part, shape in row)] for row in rows]

    def graphs(self) -> tuple[Graph, Graph]:
        """The function and the derivative as graphs; `UntraceableError` where there is none."""
        if not any(w is not None for w in self.weights):
            raise UntraceableError("the function returns no floats")
        if not self._traced:
            self._traced.append(self._graph(self.total))
        return self._traced[0], self._graph(self.slope, derivative=True)

    def _graph(self, f: Callable[..., Any], **how: bool) -> Graph:
        kit = self.subject.framework
        with kit.context(self.subject.precision), np.errstate(all="ignore"):
            return kit.graph(_named(f, self._names()), self.given, **how)

    def answer(self, *, roughly: bool = False) -> float:
        """The derivative as the framework computes it. Raises what it raises.

        `roughly`: its last digits do not matter, and it may be compiled.
        """
        kit = self.subject.framework
        with kit.context(self.subject.precision), np.errstate(all="ignore"):
            likes = self.subject.arrays(self.values)
            given = [kit.array(x, likes[self.subject.wrt[0]]) for x in self.given]
            if roughly:
                (slope,) = kit.at_once(lambda *xs: (self.slope(*xs),))(*given)
            else:
                slope = self.slope(*given)
            return float(np.asarray(kit.numpy(slope), np.float64))

    def _apart(self, given: Sequence[Any]) -> tuple[list[Any], list[Any], list[list[Any]]]:
        """The inputs, the weights of all outputs, and the lines, among what the graphs take."""
        rest = iter(given)
        xs = [next(rest) for _ in self.inputs]
        weights = [None if w is None else next(rest) for w in self.weights]
        return xs, weights, [[next(rest) for _ in line] for line in self.lines]

    def _names(self) -> list[str]:
        """What the graphs call what they take: the inputs' own names, w for weights, v for lines."""
        names = [self.subject.inputs[k].name for k in self.subject.wrt]
        if not all(name.isalpha() for name in names):  # parts of arguments, or arguments without a name
            names = _numbered("x", len(names))
        names += _numbered("w", sum(w is not None for w in self.weights))
        for letter, line in zip("vuts", self.lines, strict=False):
            names += _numbered(letter, len(line))
        return names

    def _called(self, *xs: Any) -> tuple[Any, ...]:
        return self.subject.of_differentiated(self.subject.arrays(self.values, traced=True))(*xs)


def _numbered(letter: str, count: int) -> list[str]:
    return [letter] if count == 1 else [f"{letter}{k}" for k in range(count)]


def _named(f: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function, whose parameters have these names, if they differ."""

    def call(*given: Any) -> Any:
        return f(*given)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if len(set(names)) == len(names) and not any(map(keyword.iskeyword, names)):
        parameters = [inspect.Parameter(name, kind) for name in names]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    size = rng.integers(1, 2 * int(_STEPS) + 1, shape) / _STEPS
    return np.asarray(size * rng.choice([-1.0, 1.0], shape))

"""What is proved: a function of a framework, weighted and along lines, and the derivative that the framework
would run, both as graphs.

A sum of weight * output makes one number of the outputs, and a derivative along fixed random lines one of its
gradient: a wrong entry, whichever it is, moves it. The lines of a derivative of second order are different
ones, so that a Hessian that should be symmetric and is not moves it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import UntraceableError
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import is_float
from gradfuzz.testing.measuring.subject import Subject

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
        return cls(subject, values, weights, lines, tuple(modes))

    @property
    def inputs(self) -> list[Array]:
        """The differentiated inputs."""
        return [self.values[k] for k in self.subject.wrt]

    def total(self, *xs: Any) -> Any:
        """The number that is differentiated, of the framework's arrays."""
        ys = self._call(xs)
        terms = [
            (y * self.subject.framework.like(w, y)).sum()
            for y, w in zip(ys, self.weights, strict=True)
            if w is not None
        ]
        return sum(terms[1:], terms[0])

    def slope(self, *xs: Any) -> Any:
        """Its derivative along the lines, by the framework, of the framework's arrays."""
        framework = self.subject.framework
        if self.modes[-1] == "rev":
            along = [np.asarray(v) for v in (self.lines[0] if len(self.modes) > 1 else self._still())]
            _, gradient = framework.derivative(lambda *ys: self._call(ys), xs, self.weights, along, self.modes)
            last = self.lines[-1]
        else:

            def on_lines(*ts: Any) -> Any:
                moved = list(xs)
                for t, line in zip(ts, self.lines, strict=True):
                    moved = [x + t * framework.like(v, x) for x, v in zip(moved, line, strict=True)]
                return self._call(moved)

            ts = [framework.like(np.zeros(()), xs[0]) for _ in self.lines]
            first = [np.asarray(float(k == 0)) for k in range(len(ts))]
            _, gradient = framework.derivative(on_lines, ts, self.weights, first, self.modes)
            gradient, last = gradient[-1:], (np.ones(()),)
        terms = [(g * framework.like(v, g)).sum() for g, v in zip(gradient, last, strict=True)]
        return sum(terms[1:], terms[0])

    def graphs(self) -> tuple[Graph, Graph]:
        """The function and the derivative as graphs; `UntraceableError` where there is none."""
        if not any(w is not None for w in self.weights):
            raise UntraceableError("the function returns no floats")
        kit = self.subject.framework
        with kit.context(self.subject.precision), np.errstate(all="ignore"):
            return kit.graph(self.total, self.inputs), kit.graph(self.slope, self.inputs, derivative=True)

    def value(self) -> float:
        """The number as the framework computes it. Raises what it raises."""
        return self._computed(self.total)

    def answer(self) -> float:
        """The derivative as the framework computes it. Raises what it raises."""
        return self._computed(self.slope)

    def _computed(self, f: Callable[..., Any]) -> float:
        kit = self.subject.framework
        with kit.context(self.subject.precision), np.errstate(all="ignore"):
            xs = [self.subject.arrays(self.values)[k] for k in self.subject.wrt]
            return float(np.asarray(kit.numpy(f(*xs)), np.float64))

    def _still(self) -> tuple[Array, ...]:
        return tuple(np.zeros_like(v) for v in self.lines[0])

    def _call(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        arrays = self.subject.arrays(self.values)
        for k, x in zip(self.subject.wrt, xs, strict=True):
            arrays[k] = x
        return self.subject.call(*arrays)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    size = rng.integers(1, 2 * int(_STEPS) + 1, shape) / _STEPS
    return np.asarray(size * rng.choice([-1.0, 1.0], shape))

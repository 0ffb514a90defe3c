"""The rules of Torch, "torch:eager:rule": the ATen operations of torch.autograd's derivative, in exact
numbers. What a program decides at a point is decided before it is traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from gradfuzz.errors import UntraceableError
from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.rule import RuleOracle
from gradfuzz.oracles.torch.namespace import TorchNamespace
from gradfuzz.oracles.torch.unrolled import Eager, argument, by_either, tensor, unrolled
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import Precision
from gradfuzz.tracing.common.units import Unit

_STRIDE = 16
"""Recording every operation takes ten times as long as running it."""


class TorchRule(RuleOracle):
    """The rules of torch.autograd."""

    def __init__(self) -> None:
        super().__init__(Eager(), _STRIDE)

    def traced(self, question: Question, index: int) -> tuple[Graph, Sequence[Array]]:
        from gradfuzz.tracing.torch.trace import traced_graph  # it needs private names of Torch

        point, precision = question.points[index], question.precision
        params = {p.name: p.type for p in question.program.params}
        floats = [name for name, of in params.items() if of.is_float]
        fixed = {n: argument(point.inputs[n], params[n], precision) for n in params if n not in floats}
        weights = [w for w in question.weights if w is not None]
        directions = [question.directions[name] for name in question.wrt] if question.order > 1 else []
        given = [
            *(np.asarray(x, precision) for x in (*(point.inputs[n] for n in floats), *weights, *directions))
        ]
        decisions: list[bool] = []
        with torch.no_grad():
            inputs = {**fixed, **{n: tensor(point.inputs[n], precision) for n in floats}}
            interpret(question.program, inputs, _Deciding(precision, decisions))

        def derivative(*xs: torch.Tensor) -> tuple[Any, ...]:
            rest = iter(xs)
            here = {name: next(rest) for name in floats}
            cotangents = [None if w is None else next(rest) for w in question.weights]
            along = list(rest)

            def f(*ys: torch.Tensor) -> tuple[Any, ...]:
                inputs = {**fixed, **here, **dict(zip(question.wrt, ys, strict=True))}
                return interpret(question.program, inputs, _Decided(precision, decisions))

            asked = [here[name] for name in question.wrt]
            outputs, gradient = by_either(f, asked, cotangents, along, question.modes)
            return (*outputs, *gradient)

        return traced_graph(derivative, given, derivative=True), given

    def steps(self, question: Question, index: int) -> Iterable[Unit]:
        from gradfuzz.tracing.torch.units import units

        point = question.points[index]
        arrays = [np.asarray(point.inputs[name], question.precision) for name in question.wrt]
        return units(unrolled(question, point), arrays, question.modes[-1])


class _Deciding(TorchNamespace):
    """Notes what is decided."""

    def __init__(self, precision: Precision, decisions: list[bool]) -> None:
        super().__init__(precision)
        self._decisions = decisions

    def decide(self, predicate: Any) -> bool:
        self._decisions.append(super().decide(predicate))
        return self._decisions[-1]


class _Decided(TorchNamespace):
    """Decides what was decided before, whatever the numbers are."""

    def __init__(self, precision: Precision, decisions: Sequence[bool]) -> None:
        super().__init__(precision)
        self._decisions = iter(decisions)

    def decide(self, predicate: Any) -> bool:
        decided = next(self._decisions, None)
        if decided is None:
            raise UntraceableError("the traced program decides more than the one that ran")
        return decided

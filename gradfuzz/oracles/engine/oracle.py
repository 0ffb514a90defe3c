"""The engine as an oracle: a peer of the libraries, and the body of every mutant."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gradfuzz.engine import Rules, compile, derivative
from gradfuzz.errors import GradfuzzError, PrecisionError
from gradfuzz.oracles.base import Answer, Array, Mode, Oracle, Point, Question
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.version import __version__


class EngineOracle(Oracle):
    """Answers by the engine's derivative graph, compiled to Python."""

    def __init__(self, name: str = "engine", rules: Rules | None = None) -> None:
        self.name = name
        self.version = __version__
        self.rules = rules or Rules()

    def supports(self, question: Question) -> str | None:
        return refused_op(question.program, question.precision)

    def answer(self, question: Question) -> list[Answer]:
        try:
            asked = question.program, question.wrt, question.modes, question.precision
            function = _function(*asked, self.rules)
        except GradfuzzError as error:
            return [Answer("error", message=f"{type(error).__name__}: {error}")] * len(question.points)
        extra = weights_and_directions(question)
        return [self._one(question, function, point, extra) for point in question.points]

    def _one(
        self, question: Question, function: Callable[..., tuple[Any, ...]], point: Point, extra: list[Array]
    ) -> Answer:
        inputs = [point.inputs[p.name] for p in question.program.params]
        try:
            results = [np.asarray(r) for r in function(*inputs, *extra)]
        except GradfuzzError as error:
            return failure(error)
        count = len(question.weights)
        slopes = dict(zip(question.wrt, results[count:], strict=False)) if question.modes else {}
        return Answer("ok", tuple(results[:count]), slopes)


def failure(error: GradfuzzError) -> Answer:
    """What the engine raises while it runs, as an answer."""
    if isinstance(error, PrecisionError):
        return Answer("unsupported", message=str(error))
    return Answer("error", message=f"{type(error).__name__}: {error}")


def weights_and_directions(question: Question) -> list[Array]:
    """The arguments of a derivative's graph after the inputs."""
    weights = [w for w in question.weights if w is not None]
    return [*weights, *(question.directions[n] for n in question.wrt)] if question.order > 1 else weights


@lru_cache(maxsize=512)
def _function(
    program: Program, wrt: tuple[str, ...], modes: tuple[Mode, ...], precision: Precision, rules: Rules
) -> Callable[..., tuple[Any, ...]]:
    graph = derivative(program, wrt=wrt, modes=modes, rules=rules)
    return compile(graph, precision=precision, trip_limit=TRIP_LIMIT)

"""The rules of JAX: "jax:scan:rule", "jax:fori_loop:rule" and "jax:while_loop:rule", what each of these ways
would run, in exact numbers. Nothing is compiled but single operations, so compiled ways have the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.loops import Style
from gradfuzz.oracles.jax.lowered import question_key, traced_function, traced_question, trips_of
from gradfuzz.oracles.jax.structured import Structured
from gradfuzz.oracles.rule import RuleOracle
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.recent import Latest
from gradfuzz.tracing.common.units import Unit
from gradfuzz.tracing.jax.trace import traced_graph
from gradfuzz.tracing.jax.units import units

_STRIDES: dict[Style, int] = {"scan": 4, "fori_loop": 8, "while_loop": 8}


class JaxRule(RuleOracle):
    """The rules of one of JAX's loop constructs."""

    def __init__(self, style: Style) -> None:
        super().__init__(Structured(style, jit=False), _STRIDES[style])
        self._style = style
        self._recent: Latest[Graph] = Latest(16)

    def traced(self, question: Question, index: int) -> tuple[Graph, Sequence[Array]]:
        inputs, weights, directions = jax_answers.arguments(question, index)
        given: list[Array] = [*inputs, *(w for w in weights if w is not None), *directions]
        bound = self._bound(question)

        def graph() -> Graph:
            derivative = traced_question(question, self._style, bound).flat
            return traced_graph(derivative, given, derivative=True)

        return self._recent.get(question_key(question, self._style, bound), graph), given

    def steps(self, question: Question, index: int) -> Iterable[Unit]:
        bound = self._bound(question)
        f = traced_function(question.program, question.precision, self._style, bound)
        return units(f, jax_answers.inputs(question, index), question.modes[-1])

    def _bound(self, question: Question) -> int:
        """The trips of a loop that runs to a bound; 0 where the style has none."""
        return trips_of(question).bound if self._style == "scan" else 0

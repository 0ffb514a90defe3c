"""Programs as graphs whose loops have been looked at, and as functions of JAX with loops in one style.
Programs and questions, traced: what several ways are asked, and one way at several points, is traced once.

A derivative that is traced has been through the same rules as one that is not: `jax.grad(f)` under `jax.vmap`
is that under `jax.jit` under `jax.vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradfuzz.errors import EvaluationError, TripLimitError
from gradfuzz.oracles.base import Answer, Question
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.derivatives import Derivative
from gradfuzz.oracles.jax.evaluate import Traced, core
from gradfuzz.oracles.jax.loops import Style, loop_source
from gradfuzz.oracles.jax.trips import known_trips
from gradfuzz.programs.graphs.graph import Branch, Graph, Loop
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.recent import Latest

_RECENT = 256
"""So many questions are kept: those of a batch, which a sweep asks one way after the other."""


@dataclass(frozen=True, eq=False)
class LoweredProgram:
    """A program as a graph, and what is known of its loops before it runs."""

    graph: Graph
    trips: dict[Loop, int]
    loops: tuple[Loop, ...]
    error: str = ""

    @property
    def counted(self) -> bool:
        """Whether some loop suits `lax.fori_loop`."""
        return any(loop in self.trips or loop.form == "for" for loop in self.loops)

    @property
    def open_ended(self) -> bool:
        """Whether some loop's trip count is known only at run time."""
        return any(loop not in self.trips for loop in self.loops)

    @property
    def selects(self) -> bool:
        """Whether a batched run also computes what is not taken."""
        return self.open_ended or any(isinstance(node, Branch) for node in self.graph.walk())


@functools.lru_cache(maxsize=256)
def lowered_program(program: Program) -> LoweredProgram:
    graph = lower(program)
    loops = tuple(node for node in graph.walk() if isinstance(node, Loop) and node.carries)
    try:
        return LoweredProgram(graph, known_trips(graph), loops)
    except TripLimitError as error:
        return LoweredProgram(graph, {}, loops, str(error))


def program_source(program: Program, precision: Precision, style: Style, bound: int) -> str:
    """The program as JAX source, a function `f`. `bound`: as for `loop_source`."""
    known = lowered_program(program)
    return loop_source(known.graph, precision, style, known.trips, bound)


@functools.lru_cache(maxsize=256)
def function_of(
    program: Program, precision: Precision, style: Style, bound: int
) -> Callable[..., Sequence[Any]]:
    """The program as a function of all parameters that returns a tuple."""
    dtypes = {"F": np.dtype(precision).type, "C": FORMATS[precision].complex_dtype}
    names: dict[str, Any] = {**dtypes, "jax": jax, "jnp": jnp, "lax": lax, "np": np}
    exec(program_source(program, precision, style, bound), names)  # noqa: S102 - our own text, made from a typed program
    f = names["f"]
    return f if len(program.result.values) > 1 else lambda *arguments: (f(*arguments),)


_questions: Latest[Traced] = Latest(_RECENT)


@dataclass(frozen=True, slots=True)
class Trips:
    """What runs of a program at some points say of its loops."""

    failures: Mapping[int, Answer]
    """The answers at the points where the program does not run."""
    bound: int
    """The most trips of a loop whose count is known only at run time; 0 where there is none."""


_trips: Latest[Trips] = Latest(_RECENT)


def trips_of(question: Question) -> Trips:
    """The trips of a question's program at its points."""
    if not lowered_program(question.program).open_ended:
        return Trips({}, 0)
    numbers = tuple(x.tobytes() for k in range(len(question.points)) for x in jax_answers.inputs(question, k))
    return _trips.get((question.program, question.precision, numbers), lambda: _counted(question))


def _counted(question: Question) -> Trips:
    failures, bound = {}, 1
    for k in range(len(question.points)):
        try:
            bound = max([bound, *jax_answers.trip_counts(question, k)])
        except EvaluationError as error:
            failures[k] = jax_answers.failure(error, question)
    return Trips(failures, bound)


@functools.lru_cache(maxsize=64)
def traced_function(
    program: Program, precision: Precision, style: Style, bound: int
) -> Callable[..., Sequence[Any]]:
    """`function_of`, traced, so that repeated differentiation does not trace the loop bodies again."""
    f = function_of(program, precision, style, bound)
    dtypes = {"float": np.dtype(precision), "int": np.dtype("int64"), "bool": np.dtype("bool")}
    inputs = [jax.ShapeDtypeStruct(p.type.shape, dtypes[p.type.dtype]) for p in program.params]
    traced: Callable[..., Sequence[Any]] = core.jaxpr_as_fun(
        jax.make_jaxpr(lambda *arguments: tuple(f(*arguments)))(*inputs)
    )
    return traced


def question_key(
    question: Question, style: Style, bound: int, by: Derivative | None = None
) -> tuple[object, ...]:
    """Equal for questions with the same trace, which does not depend on their numbers."""
    return question.program, question.precision, question.wrt, question.modes, style, bound, by


def traced_question(question: Question, style: Style, bound: int, by: Derivative | None = None) -> Traced:
    """What `asking` makes of the traced program, traced: a function of inputs, weights and directions."""

    def traced() -> Traced:
        f = traced_function(question.program, question.precision, style, bound)
        return Traced(jax_answers.asking(f, question, by), jax_answers.arguments(question, 0))

    return _questions.get(question_key(question, style, bound, by), traced)

"""Programs and questions, traced. What several ways are asked, and one way at several points, is traced once.

A derivative that is traced has been through the same rules as one that is not: `jax.grad(f)` under `jax.vmap`
is that under `jax.jit` under `jax.vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.oracles.base import Answer, Question
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.answers import asking
from gradfuzz.oracles.jax.derivatives import Derivative
from gradfuzz.oracles.jax.evaluate import Traced, core
from gradfuzz.oracles.jax.loops import Style
from gradfuzz.oracles.jax.lowered import function_of, lowered_program
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.recent import Latest

_RECENT = 256
"""So many questions are kept: those of a batch, which a sweep asks one way after the other."""

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
        return Traced(asking(f, question, by), jax_answers.arguments(question, 0))

    return _questions.get(question_key(question, style, bound, by), traced)

"""The oracle "jax:unrolled": Python runs the loops, JAX sees straight-line arithmetic without jit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.oracles.base import Answer, Oracle, Question, Traits
from gradfuzz.oracles.emit.op_source import missing_op
from gradfuzz.oracles.jax import answers as jax_answers
from gradfuzz.oracles.jax.namespace import JaxNamespace
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.evaluation.interpret import interpret

_MOST_TRIPS = 300
"""Iterations of all loops together. An operation with its derivative takes about half a millisecond."""


class Unrolled(Oracle):
    """All modes."""

    name = "jax:unrolled"
    version = jax.__version__
    traits = Traits(recompiles_per_shape=True, secondary=True, sampling_stride=64)

    def supports(self, question: Question) -> str | None:
        if question.modes and not question.wrt:
            return "there is no input to differentiate"
        return missing_op(question.program, "jax") or refused_op(question.program, question.precision)

    def answer(self, question: Question) -> list[Answer]:
        reason = self.supports(question)
        if reason is not None:
            return [Answer("unsupported", message=reason)] * len(question.points)
        with np.errstate(all="ignore"):
            refused = [self._refusal(question, k) for k in range(len(question.points))]
            return [answer or self._alone(question, k) for k, answer in enumerate(refused)]

    def _refusal(self, question: Question, index: int) -> Answer | None:
        """The answer at a point where JAX is not asked; None where it is."""
        try:
            trips = sum(jax_answers.trip_counts(question, index))
        except EvaluationError as error:
            return jax_answers.failure(error, question)
        if trips <= _MOST_TRIPS:
            return None
        message = f"{trips} trips take too long one operation at a time; the limit is {_MOST_TRIPS}"
        return Answer("unsupported", message=message)

    def _alone(self, question: Question, index: int) -> Answer:
        arguments = jax_answers.arguments(question, index)
        static = {
            p.name: x.item()
            for p, x in zip(question.program.params, arguments[0], strict=True)
            if p.type.dtype != "float" and not p.type.shape
        }
        ask = jax_answers.asking(_function(question, static), question)
        try:
            return jax_answers.answer(question, index, *ask(*arguments))
        except Exception as error:  # noqa: BLE001 - whatever JAX raises is its answer
            return jax_answers.failure(error, question)


def _function(question: Question, static: dict[str, int | bool]) -> Callable[..., Sequence[Any]]:
    """The program as a function of all parameters; those in `static` are Python's ints and bools."""
    names = [p.name for p in question.program.params]

    def f(*arguments: Any) -> tuple[Any, ...]:
        inputs = dict(zip(names, arguments, strict=True)) | static
        namespace = JaxNamespace(question.precision)  # of this run alone: it caches decompositions
        return interpret(question.program, inputs, namespace)

    return f

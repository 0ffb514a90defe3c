"""Questions as JAX arrays, and answers from its results. Importing this module sets JAX to 64 bits.

That is a setting of the process (`jax_enable_x64`); without it JAX would answer every float64 question in
float32. All arrays here have an explicit dtype, so float32 questions stay in float32.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.oracles.base import Answer, Array, Question
from gradfuzz.oracles.jax.derivatives import Derivative, derivative
from gradfuzz.oracles.jax.lacks import LACKS
from gradfuzz.oracles.lacks import is_refusal
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.program import called

jax.config.update("jax_enable_x64", True)

Arrays = tuple[Any, ...]
Arguments = tuple[Arrays, Arrays, Arrays]
"""Inputs, weights, directions."""
Ask = Callable[[Arrays, Arrays, Arrays], tuple[Arrays, Arrays]]
"""(inputs, weights, directions) -> (outputs, gradient)."""


def asking(f: Callable[..., Sequence[Any]], question: Question, by: Derivative | None = None) -> Ask:
    """The question about `f`, a function from all parameters to all outputs, as a function of the numbers."""
    positions = [[p.name for p in question.program.params].index(name) for name in question.wrt]

    def ask(inputs: Arrays, weights: Arrays, directions: Arrays) -> tuple[Arrays, Arrays]:
        inputs = tuple(jnp.asarray(x) for x in inputs)  # a NumPy array cannot be indexed by a traced int

        def of_differentiated(*xs: Any) -> Sequence[Any]:
            arguments = list(inputs)
            for k, x in zip(positions, xs, strict=True):
                arguments[k] = x
            return tuple(f(*arguments))

        if not question.modes:
            return tuple(f(*inputs)), ()
        xs = tuple(inputs[k] for k in positions)
        outputs, gradient = (by or derivative)(of_differentiated, xs, weights, directions, question.modes)
        return tuple(outputs), tuple(gradient)

    return ask


def inputs(question: Question, index: int) -> tuple[Array, ...]:
    """The inputs of a point, in the order of the parameters."""
    dtypes = {"float": question.precision, "int": "int64", "bool": "bool"}
    point = question.points[index]
    return tuple(np.asarray(point.inputs[p.name], dtypes[p.type.dtype]) for p in question.program.params)


def weights(question: Question) -> tuple[Array | None, ...]:
    return tuple(None if w is None else np.asarray(w, question.precision) for w in question.weights)


def directions(question: Question) -> tuple[Array, ...]:
    """One per name in `wrt`; empty where the question needs none."""
    if question.order < 2:
        return ()
    return tuple(np.asarray(question.directions[name], question.precision) for name in question.wrt)


def arguments(question: Question, index: int) -> Arguments:
    """The question's numbers at a point, for what `asking` makes."""
    return inputs(question, index), weights(question), directions(question)


def trip_counts(question: Question, index: int) -> list[int]:
    """Every decision (0 or 1) and trip count of the program at a point, from a run in NumPy.

    Raises `EvaluationError` where it cannot run there.
    """
    trace: list[int] = []
    arguments = _scalars_and_arrays(question, index)
    interpret(question.program, arguments, NumpyNamespace(question.precision), trace=trace)
    return trace


def _scalars_and_arrays(question: Question, index: int) -> dict[str, Any]:
    """The inputs of a point by name, as a run in NumPy takes them."""
    return {
        p.name: x if p.type.shape else x[()] if p.type.is_float else x.item()
        for p, x in zip(question.program.params, inputs(question, index), strict=True)
    }


def answer(question: Question, index: int, outputs: Sequence[Any], gradient: Sequence[Any]) -> Answer:
    """What JAX returned at a point; unsupported if it is NaN where the documentation says so."""
    names = question.wrt if question.modes else ()
    slopes = {name: np.asarray(g) for name, g in zip(names, gradient, strict=True)}
    values = tuple(np.asarray(y) for y in outputs)
    nan = any(np.any(np.isnan(a)) for a in (*values, *slopes.values()))
    if nan and "expm" in called(question.program) and _largest_norm(question, index) > _reach(question):
        return Answer("unsupported", values, slopes, _TOO_LARGE)
    return Answer("ok", values, slopes)


_TOO_LARGE = (
    "JAX documents that `jax.scipy.linalg.expm` scales large matrices by `max_squarings`, 16, at most"
)


def _reach(question: Question) -> float:
    """The largest 1-norm for which 16 squarings are enough, by the documentation of JAX's `expm`."""
    return float(2.0 ** (16 + (2.42 if question.precision == "float64" else 1.97)))


def _largest_norm(question: Question, index: int) -> float:
    """The largest 1-norm of a matrix whose exponential the program takes at a point."""
    namespace = _Norms(question.precision)
    with contextlib.suppress(EvaluationError):
        interpret(question.program, _scalars_and_arrays(question, index), namespace)
    return namespace.largest


class _Norms(NumpyNamespace):
    """NumPy, which notes the largest 1-norm of what `expm` is given."""

    largest = 0.0

    def expm(self, x: Any) -> Any:
        self.largest = max(self.largest, float(np.max(np.abs(x).sum(-2), initial=0.0)))
        return super().expm(x)


def failure(error: Exception, question: Question) -> Answer:
    """An exception of JAX as an answer. If JAX lacks this by the list, or if this release lacks a name that a
    program needs, the answer is unsupported.
    """
    if _is_missing(error):
        return Answer("unsupported", message=f"not in this release: {error}")
    message = f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"
    return Answer("unsupported" if is_refusal(LACKS, error, question) else "error", message=message)


def _is_missing(error: Exception) -> bool:
    """Whether a name was looked up in a module of JAX, by somebody else, and is not there."""
    if not isinstance(error, AttributeError) or not str(error).startswith("module 'jax"):
        return False
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.name.strip("_") != "getattr"]
    return bool(frames) and not Path(frames[-1].filename).is_relative_to(Path(jax.__file__).parent)

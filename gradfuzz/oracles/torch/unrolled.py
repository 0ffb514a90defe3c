"""Torch on unrolled programs: the interpreter runs the loops, torch sees straight-line arithmetic."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.base import Answer, Array, Oracle, Point, Question, Traits
from gradfuzz.oracles.emit.op_source import missing_op
from gradfuzz.oracles.lacks import foreseen, is_refusal
from gradfuzz.oracles.said import telling
from gradfuzz.oracles.torch.derivatives import (
    Differentiated,
    Function,
    Tensors,
    Weights,
    by_autograd,
    by_func,
    by_jacobians,
    by_reverse,
)
from gradfuzz.oracles.torch.emit import HELPERS
from gradfuzz.oracles.torch.lacks import LACKS
from gradfuzz.oracles.torch.linalg import ignored_vectors
from gradfuzz.oracles.torch.namespace import TorchNamespace, dtype_of
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.types import Type

Derivative = Callable[[Function, Tensors, Weights, Tensors, Sequence[str]], Differentiated]
"""(f, xs, weights, directions, modes) -> (outputs, gradient)."""
Make = Callable[[Question, Point], Function]


class TorchOracle(Oracle):
    """The common part of torch's oracles: tensors in, arrays out, and the meaning of exceptions."""

    version = str(torch.__version__).split("+")[0]
    differentiate: Derivative

    def supports(self, question: Question) -> str | None:
        missing = missing_op(question.program, "torch") or refused_op(question.program, question.precision)
        missing = missing or foreseen(LACKS, question, self.name)
        return missing or (ignored_vectors(question.program) if question.modes else None)

    def answer(self, question: Question) -> list[Answer]:
        reason = self.supports(question)
        if reason is not None:
            return [Answer("unsupported", message=reason) for _ in question.points]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.answers(question)

    def answers(self, question: Question) -> list[Answer]:
        """One answer per point of a question that is supported."""
        return [self.attempt(question, point, unrolled) for point in question.points]

    def attempt(self, question: Question, point: Point, make: Make) -> Answer:
        """The answer at one point; `make` makes the program a function of the tensors in `question.wrt`."""
        try:
            f = make(question, point)
            xs = [tensor(point.inputs[name], question.precision) for name in question.wrt]
            if not question.modes:
                return Answer("ok", arrays(f(*xs)))
            weights = [None if w is None else tensor(w, question.precision) for w in question.weights]
            names = question.wrt if question.order > 1 else ()
            directions = [tensor(question.directions[name], question.precision) for name in names]
            outputs, gradient = self.differentiate(f, xs, weights, directions, question.modes)
            return Answer("ok", arrays(outputs), dict(zip(question.wrt, arrays(gradient), strict=True)))
        except GradfuzzError as error:
            return Answer("error", message=f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
            refused = is_refusal(LACKS, error, question, self.name)
            return Answer("unsupported" if refused else "error", message=summary(error))


def nested_forward(question: Question) -> str | None:
    """Why torch.autograd's forward mode cannot be asked; None where it can."""
    if question.modes.count("fwd") > 1:
        return "torch.autograd.forward_ad has no nested levels: one forward step at most"
    return None


def by_either(
    f: Function, xs: Tensors, weights: Weights, directions: Tensors, modes: Sequence[str]
) -> Differentiated:
    """torch.autograd: `grad` for reverse steps, dual numbers for a forward step."""
    if "fwd" in modes:
        return by_autograd(f, xs, weights, directions, modes)
    return by_reverse(f, xs, weights, directions, len(modes))


def _with_outputs(gradient: Callable[..., Tensors]) -> Derivative:
    """A function that returns the gradient alone, as one that also returns the outputs."""
    return lambda f, *asked: (f(*asked[0]), gradient(f, *asked))


class Eager(TorchOracle):
    """torch.autograd."""

    name = "torch:eager"
    differentiate = staticmethod(by_either)

    def supports(self, question: Question) -> str | None:
        return nested_forward(question) or super().supports(question)


class Func(TorchOracle):
    """torch.func: vjp, grad, jvp and jacfwd, nested in any order."""

    name = "torch:func"
    differentiate = staticmethod(_with_outputs(by_func))


class Jacobian(TorchOracle):
    """torch.func: jacrev and jacfwd, nested in any order."""

    name = "torch:jacobian"
    traits = Traits(sampling_stride=4)
    differentiate = staticmethod(_with_outputs(by_jacobians))

    def supports(self, question: Question) -> str | None:
        return question.too_many_slopes or super().supports(question)


def unrolled(question: Question, point: Point, trace: list[int] | None = None) -> Function:
    """The program as a function of the tensors in `question.wrt`; the other inputs are constants.

    Its decisions and trip counts are appended to `trace`.
    """
    program, constants = question.program, _inputs(question, point)

    def f(*xs: torch.Tensor) -> tuple[Any, ...]:
        namespace = TorchNamespace(question.precision)  # of this run alone: it caches decompositions
        inputs = {**constants, **dict(zip(question.wrt, xs, strict=True))}
        return interpret(program, inputs, namespace, trace=trace)

    return f


def traced(question: Question, point: Point) -> list[int]:
    """The decisions and trip counts at a point.

    Torch has no trip limit, so the interpreter runs first; raises `TripLimitError` where a loop does not end.
    """
    trace: list[int] = []
    with torch.no_grad():
        xs = [tensor(point.inputs[name], question.precision) for name in question.wrt]
        unrolled(question, point, trace)(*xs)
    return trace


def executed(
    source: str, file: str, precision: Precision, constructs: Mapping[str, Any] = MappingProxyType({})
) -> Callable[..., Any]:
    """The function `f` of our own text, of a program that has been checked."""
    names: dict[str, Any] = {"torch": torch, "dtype": dtype_of(precision), **constructs}
    exec("\n".join(HELPERS.values()), names)  # noqa: S102 - a constant of ours
    exec(compile(source, file, "exec"), names)  # noqa: S102 - see above
    function: Callable[..., Any] = names["f"]
    return function


def of_wrt(
    run: Callable[..., Any], question: Question, point: Point, convert: Callable[[Any], Any] = lambda x: x
) -> Function:
    """`run` as a function of the tensors in `question.wrt`; `convert` is applied to the other inputs."""
    constants = {name: convert(value) for name, value in _inputs(question, point).items()}

    def f(*xs: torch.Tensor) -> Sequence[Any]:
        outputs = run(*{**constants, **dict(zip(question.wrt, xs, strict=True))}.values())
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return f


# Tensors and arrays -----------------------------------------------------------------------------------------


def tensor(array: Array, precision: Precision) -> torch.Tensor:
    """A new tensor of these floats, in row-major order as in a script: a question has no memory layout."""
    return torch.tensor(np.array(array, np.float64, order="C"), dtype=dtype_of(precision))


def argument(array: Array, of: Type, precision: Precision) -> Any:
    """An input for the interpreter: int and bool scalars are Python's."""
    if of.dtype == "float":
        return tensor(array, precision)
    return torch.tensor(np.asarray(array)) if of.shape else np.asarray(array).item()


def _inputs(question: Question, point: Point) -> dict[str, Any]:
    """All inputs at a point."""
    params = question.program.params
    return {p.name: argument(point.inputs[p.name], p.type, question.precision) for p in params}


def arrays(values: Sequence[Any]) -> tuple[Array, ...]:
    """Tensors and plain ints and bools as arrays, with the same dtypes.

    Torch has zeros without memory: `force` allocates them, and `clone` comes first, as a part of such zeros
    crashes the interpreter.
    """
    return tuple([_array(v) if isinstance(v, torch.Tensor) else np.array(v) for v in values])


def _array(value: torch.Tensor) -> Array:
    if value.dtype == torch.bfloat16:  # NumPy has it through ml_dtypes, which Torch does not support
        return np.array(value.float().clone().numpy(force=True)).astype(FORMATS["bfloat16"].dtype)
    return value.clone().numpy(force=True)


def summary(error: BaseException) -> str:
    """The type and first line of the exception, and of one that it wraps."""
    text = str(error).strip()
    if not text:
        return type(error).__name__
    first = telling(text)[:300]
    inner = re.search(r": got (\w+\(.{1,300}?\))$", text, re.MULTILINE)
    return f"{type(error).__name__}: {first}" + (f": {inner[1]}" if inner else "")

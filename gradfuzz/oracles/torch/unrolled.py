"""Torch on unrolled programs: the interpreter runs the loops, torch sees straight-line arithmetic."""

from __future__ import annotations

import abc
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.base import Answer, Array, Oracle, Point, Question, Traits
from gradfuzz.oracles.emit.linalg_source import missing_op
from gradfuzz.oracles.torch.derivatives import (
    Function,
    Tensors,
    by_autograd,
    by_func,
    by_jacobians,
    by_reverse,
)
from gradfuzz.oracles.torch.linalg import ignored_vectors
from gradfuzz.oracles.torch.namespace import TorchNamespace, dtype_of
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.types import Type


class TorchOracle(Oracle):
    """The common part of torch's oracles: tensors in, arrays out, and the meaning of exceptions."""

    version = str(torch.__version__).split("+")[0]
    limits: tuple[type[BaseException], ...] = (NotImplementedError,)
    """Exceptions that mean that torch cannot do this, not that it failed."""
    refusals = re.compile(
        r"not (yet |currently )?(implemented|supported)|(does not|doesn't|cannot) support|n't"
        r" supported|unsupported|is not differentiable when",
        re.IGNORECASE,
    )
    """Messages of other exceptions that mean the same."""

    def supports(self, question: Question) -> str | None:
        missing = missing_op(question.program) or refused_op(question.program, question.precision)
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

    def attempt(
        self, question: Question, point: Point, make: Callable[[Question, Point], Function]
    ) -> Answer:
        """The answer at one point; `make` makes the program a function of the tensors in `question.wrt`."""
        try:
            f = make(question, point)
            xs = [tensor(point.inputs[name], question.precision) for name in question.wrt]
            if not question.modes:
                return Answer("ok", arrays(f(*xs)))
            weights = [None if w is None else tensor(w, question.precision) for w in question.weights]
            directions = [
                tensor(question.directions[name], question.precision)
                for name in question.wrt
                if question.order > 1
            ]
            outputs, gradient = self.differentiate(f, xs, weights, directions, question.modes)
            return Answer("ok", arrays(outputs), dict(zip(question.wrt, arrays(gradient), strict=True)))
        except GradfuzzError as error:
            return Answer("error", message=f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
            limited = isinstance(error, self.limits) or self.refusals.search(str(error)) is not None
            return Answer("unsupported" if limited else "error", message=summary(error))

    @abc.abstractmethod
    def differentiate(
        self,
        f: Function,
        xs: Tensors,
        weights: Sequence[torch.Tensor | None],
        directions: Tensors,
        modes: Sequence[str],
    ) -> tuple[Sequence[Any], Tensors]:
        """The outputs of `f` and its gradient."""


def nested_forward(question: Question) -> str | None:
    """Why torch.autograd's forward mode cannot be asked; None where it can."""
    if question.modes.count("fwd") > 1:
        return "torch.autograd.forward_ad has no nested levels: one forward step at most"
    return None


class Eager(TorchOracle):
    """torch.autograd: `grad` for reverse steps, dual numbers for a forward step."""

    name = "torch:eager"

    def supports(self, question: Question) -> str | None:
        return nested_forward(question) or super().supports(question)

    def differentiate(
        self,
        f: Function,
        xs: Tensors,
        weights: Sequence[torch.Tensor | None],
        directions: Tensors,
        modes: Sequence[str],
    ) -> tuple[Sequence[Any], Tensors]:
        if "fwd" in modes:
            return by_autograd(f, xs, weights, directions, modes)
        return by_reverse(f, xs, weights, directions, len(modes))


class Func(TorchOracle):
    """torch.func: vjp, grad, jvp and jacfwd, nested in any order."""

    name = "torch:func"

    def differentiate(
        self,
        f: Function,
        xs: Tensors,
        weights: Sequence[torch.Tensor | None],
        directions: Tensors,
        modes: Sequence[str],
    ) -> tuple[Sequence[Any], Tensors]:
        outputs = f(*xs)
        return outputs, by_func(f, xs, weights, directions, modes)


class Jacobian(TorchOracle):
    """torch.func: jacrev and jacfwd, nested in any order."""

    name = "torch:jacobian"
    traits = Traits(sampling_stride=4)

    def supports(self, question: Question) -> str | None:
        return question.too_many_slopes or super().supports(question)

    def differentiate(
        self,
        f: Function,
        xs: Tensors,
        weights: Sequence[torch.Tensor | None],
        directions: Tensors,
        modes: Sequence[str],
    ) -> tuple[Sequence[Any], Tensors]:
        outputs = f(*xs)
        return outputs, by_jacobians(f, xs, weights, directions, modes)


def unrolled(question: Question, point: Point, trace: list[int] | None = None) -> Function:
    """The program as a function of the tensors in `question.wrt`; the other inputs are constants.

    Its decisions and trip counts are appended to `trace`.
    """
    program = question.program
    constants = {p.name: argument(point.inputs[p.name], p.type, question.precision) for p in program.params}

    def f(*xs: torch.Tensor) -> tuple[Any, ...]:
        namespace = TorchNamespace(
            question.precision
        )  # of this run alone: it caches decompositions with their graphs
        return interpret(
            program, {**constants, **dict(zip(question.wrt, xs, strict=True))}, namespace, trace=trace
        )

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
    first = text.partition("\n")[0][:300]
    inner = re.search(r": got (\w+\(.{1,300}?\))$", text, re.MULTILINE)
    return (
        f"{type(error).__name__}: {first}" + (f": {inner[1]}" if inner else "")
        if text
        else type(error).__name__
    )

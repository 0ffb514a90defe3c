"""torch.compile with three backends: Dynamo traces the program in Python, then reverse mode runs.

    torch:compile:eager      Dynamo's trace, run as it is
    torch:compile:aot_eager  forward and backward traced together by AOTAutograd, run op by op
    torch:compile:inductor   the same, compiled to C++; needs a compiler

The compiled text is the one that a reproducer shows. AOTAutograd has one reverse step: higher orders are
unsupported there.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch._dynamo.exc import BackendCompilerFailed, Unsupported

from gradfuzz.oracles.base import Answer, Oracle, Point, Question, Traits
from gradfuzz.oracles.torch.derivatives import Function, Tensors, by_reverse
from gradfuzz.oracles.torch.emit import HELPERS, TorchEmitter
from gradfuzz.oracles.torch.namespace import dtype_of
from gradfuzz.oracles.torch.structured import undisturbed
from gradfuzz.oracles.torch.unrolled import TorchOracle, argument, tensor, unrolled
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.syntax import Program

Backend = Literal["eager", "aot_eager", "inductor"]

_BACKENDS: tuple[Backend, ...] = ("eager", "aot_eager", "inductor")

_STRIDES: dict[Backend, int] = {"eager": 16, "aot_eager": 16, "inductor": 64}
"""Tracing takes a second; a C++ compiler takes ten."""


class Compiled(TorchOracle):
    """One backend."""

    limits = (NotImplementedError, Unsupported, BackendCompilerFailed)
    """A failed compilation may be due to a missing header or no space, and nothing was differentiated."""
    traits = Traits()

    def __init__(self, backend: Backend) -> None:
        self.name = f"torch:compile:{backend}"
        self.backend = backend
        self.traits = Traits(recompiles_per_shape=True, secondary=True, sampling_stride=_STRIDES[backend])

    def supports(self, question: Question) -> str | None:
        if "fwd" in question.modes:
            return "torch.compile is asked by reverse mode only"
        if question.order > 1 and self.backend != "eager":
            return "AOTAutograd has no second reverse step"
        return super().supports(question)

    def answers(self, question: Question) -> list[Answer]:
        with undisturbed():
            torch.compiler.reset()  # traces of other programs must not matter
            run = torch.compile(_functions[question.precision].get(question.program), backend=self.backend)
            return [
                self.attempt(question, point, functools.partial(_function, run)) for point in question.points
            ]

    def differentiate(
        self,
        f: Function,
        xs: Tensors,
        weights: Sequence[torch.Tensor | None],
        directions: Tensors,
        modes: Sequence[str],
    ) -> tuple[Sequence[Any], Tensors]:
        return by_reverse(f, xs, weights, directions, len(modes))


def _function(run: Callable[..., Any], question: Question, point: Point) -> Function:
    """`run` as a function of the tensors in `question.wrt`. Raises `TripLimitError` for an endless loop."""
    with torch.no_grad():
        unrolled(question, point)(*[tensor(point.inputs[name], question.precision) for name in question.wrt])
    given = {
        p.name: argument(point.inputs[p.name], p.type, question.precision) for p in question.program.params
    }

    def f(*xs: torch.Tensor) -> Sequence[Any]:
        outputs = run(*{**given, **dict(zip(question.wrt, xs, strict=True))}.values())
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return f


def _written(precision: Precision, program: Program) -> Callable[..., Any]:
    """The program as a Python function of tensors."""
    source = TorchEmitter(precision, bare=False).function(program, "f")
    names: dict[str, Any] = {"torch": torch, "dtype": dtype_of(precision)}
    exec("\n".join(HELPERS.values()), names)  # noqa: S102 - a constant of ours
    exec(compile(source, "<torch:compile>", "exec"), names)  # noqa: S102 - our own text, of a program that has been checked
    function: Callable[..., Any] = names["f"]
    return function


class _ByPrecision(dict[Precision, Recent[Program, Callable[..., Any]]]):
    def __missing__(self, precision: Precision) -> Recent[Program, Callable[..., Any]]:
        self[precision] = Recent(functools.partial(_written, precision), 64)
        return self[precision]


_functions = _ByPrecision()


def compiled_ways() -> list[Oracle]:
    """The entry points that can run here: inductor needs a C++ compiler."""
    compiler = any(map(shutil.which, ("c++", "g++", "clang++")))
    return [Compiled(backend) for backend in _BACKENDS if compiler or backend != "inductor"]

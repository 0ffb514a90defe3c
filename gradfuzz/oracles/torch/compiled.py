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
from collections.abc import Callable
from typing import Any, Literal

import torch

from gradfuzz.oracles.base import Answer, Oracle, Point, Question, Traits
from gradfuzz.oracles.torch.derivatives import Function
from gradfuzz.oracles.torch.emit import TorchEmitter
from gradfuzz.oracles.torch.structured import TRACER_SETTINGS, undisturbed
from gradfuzz.oracles.torch.unrolled import TorchOracle, by_either, executed, of_wrt, traced
from gradfuzz.private_names import missing
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

Backend = Literal["eager", "aot_eager", "inductor"]

_BACKENDS: tuple[Backend, ...] = ("eager", "aot_eager", "inductor")

_STRIDES: dict[Backend, int] = {"eager": 16, "aot_eager": 16, "inductor": 64}
"""Tracing takes a second; a C++ compiler takes ten."""


class Compiled(TorchOracle):
    """One backend."""

    traits = Traits()
    differentiate = staticmethod(by_either)

    def __init__(self, backend: Backend) -> None:
        self.name = f"torch:compile:{backend}"
        self.backend = backend
        self.traits = Traits(recompiles_per_shape=True, secondary=True, sampling_stride=_STRIDES[backend])

    def supports(self, question: Question) -> str | None:
        if "fwd" in question.modes:
            return "torch.compile is asked by reverse mode only"
        if question.order > 1 and self.backend != "eager":
            return "AOTAutograd has no second reverse step"
        return super().supports(question) or missing(TRACER_SETTINGS)

    def answers(self, question: Question) -> list[Answer]:
        with undisturbed():
            torch.compiler.reset()  # traces of other programs must not matter
            run = torch.compile(_written(question.program, question.precision), backend=self.backend)
            make = functools.partial(_function, run)
            return [self.attempt(question, point, make) for point in question.points]


def _function(run: Callable[..., Any], question: Question, point: Point) -> Function:
    """`run` as a function of the tensors in `question.wrt`. Raises `TripLimitError` for an endless loop."""
    traced(question, point)
    return of_wrt(run, question, point)


@functools.lru_cache(maxsize=256)
def _written(program: Program, precision: Precision) -> Callable[..., Any]:
    """The program as a Python function of tensors."""
    source = TorchEmitter(precision, bare=False).function(program, "f")
    return executed(source, "<torch:compile>", precision)


def compiled_ways() -> list[Oracle]:
    """The entry points that can run here: inductor needs a C++ compiler."""
    compiler = any(map(shutil.which, ("c++", "g++", "clang++")))
    return [Compiled(backend) for backend in _BACKENDS if compiler or backend != "inductor"]

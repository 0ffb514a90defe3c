"""Torch's own tracer, Dynamo, and then torch.autograd: structured loops, and torch.compile.

    torch:while_loop, torch:scan   the construct, in the functional form
    torch:compile:eager            a program whose loops Python runs: Dynamo's trace, run as it is
    torch:compile:aot_eager        forward and backward traced together by AOTAutograd, run op by op
    torch:compile:inductor         the same, compiled to C++; needs a compiler

What runs is the text that a reproducer shows. The constructs are prototypes: what they lack stands in
`lacks`, and any other exception is an error. AOTAutograd has one reverse step: higher orders are unsupported
there.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import logging
import shutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch

from gradfuzz.oracles.base import Answer, Point, Question, Traits
from gradfuzz.oracles.torch.derivatives import Function
from gradfuzz.oracles.torch.emit import TorchEmitter
from gradfuzz.oracles.torch.loops import LOOPS, loop_source
from gradfuzz.oracles.torch.unrolled import Make, TorchOracle, by_either, executed, of_wrt, traced
from gradfuzz.private_names import missing, private
from gradfuzz.programs.graphs.graph import Graph, Loop, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

Style = Literal["while_loop", "scan"]
Backend = Literal["eager", "aot_eager", "inductor"]

_BACKENDS: dict[Backend, int] = {"eager": 16, "aot_eager": 16, "inductor": 64}
"""Their strides: tracing takes a second; a C++ compiler takes ten."""

_TRACER_SETTINGS = "torch._dynamo.config"

_SCAN_COUNTS = "torch's scan runs a number of trips known before it starts"


class _Dynamo(TorchOracle):
    """A program that Dynamo traces, through torch.autograd."""

    differentiate = staticmethod(by_either)

    @abc.abstractmethod
    def making(self, question: Question) -> Make:
        """What makes the program a function at a point."""

    def answers(self, question: Question) -> list[Answer]:
        with undisturbed():
            torch.compiler.reset()  # traces of other programs must not matter
            make = self.making(question)
            return [self.attempt(question, point, make) for point in question.points]


class Structured(_Dynamo):
    """One construct."""

    traits = Traits(sampling_stride=32)
    """More than a second for each question: torch compiles the loop anew."""

    def __init__(self, style: Style) -> None:
        self.name = f"torch:{style}"
        self.style = style

    def supports(self, question: Question) -> str | None:
        reason = super().supports(question)
        if reason is not None:
            return reason
        graph = lower(question.program)
        loops = [node for node in graph.walk() if isinstance(node, Loop)]
        if not loops:
            return "the program has no loop"
        if self.style == "scan":
            if any(loop.form != "for" for loop in loops):
                return f"{_SCAN_COUNTS}; this program has a loop that a condition ends"
            if any(isinstance(loop.count, Var) for loop in loops if loop not in graph.nodes):
                return "torch's scan inside a loop needs a constant number of trips"
        return missing(LOOPS[self.style], _TRACER_SETTINGS)

    def making(self, question: Question) -> Make:
        run = _compiled(lower(question.program), question.precision, self.style)
        last: list[int] | None = None

        def make(question: Question, point: Point) -> Function:
            nonlocal last
            trace = traced(question, point)
            if self.style == "scan" and last is not None and trace != last:
                torch.compiler.reset()  # nor traces of another length
            last = trace
            return of_wrt(run, question, point, torch.as_tensor)

        return make


class Compiled(_Dynamo):
    """One backend of torch.compile."""

    traits = Traits()

    def __init__(self, backend: Backend) -> None:
        self.name = f"torch:compile:{backend}"
        self.backend = backend
        stride = _BACKENDS[backend]
        self.traits = Traits(recompiles_per_shape=True, secondary=True, sampling_stride=stride)

    def supports(self, question: Question) -> str | None:
        if "fwd" in question.modes:
            return "torch.compile is asked by reverse mode only"
        if question.order > 1 and self.backend != "eager":
            return "AOTAutograd has no second reverse step"
        return super().supports(question) or missing(_TRACER_SETTINGS)

    def making(self, question: Question) -> Make:
        run = torch.compile(_written(question.program, question.precision), backend=self.backend)

        def make(question: Question, point: Point) -> Function:
            traced(question, point)  # `TripLimitError` for an endless loop
            return of_wrt(run, question, point)

        return make


def backends() -> list[Backend]:
    """Those that can run here: inductor needs a C++ compiler."""
    compiler = any(map(shutil.which, ("c++", "g++", "clang++")))
    return [backend for backend in _BACKENDS if compiler or backend != "inductor"]


def _compiled(graph: Graph, precision: Precision, style: str) -> Callable[..., Any]:
    """`graph` as a Python function of tensors."""
    _, source = loop_source(graph, precision, style)
    return executed(source, f"<torch:{style}>", precision, {style: private(LOOPS[style]), "cond": torch.cond})


@functools.lru_cache(maxsize=256)
def _written(program: Program, precision: Precision) -> Callable[..., Any]:
    """The program as a Python function of tensors."""
    source = TorchEmitter(precision, bare=False).function(program, "f")
    return executed(source, "<torch:compile>", precision)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """No warnings, no log lines, and no limit on how often the constructs are traced."""
    settings = private(_TRACER_SETTINGS)
    loggers = [name for name in logging.root.manager.loggerDict if name.startswith("torch")]
    handlers = [handler for name in loggers for handler in logging.getLogger(name).handlers]
    limits = {name: 1 << 20 for name in _TRACE_LIMITS if hasattr(settings, name)}
    for handler in handlers:
        handler.addFilter(_silent)
    try:
        with warnings.catch_warnings(), settings.patch(limits):
            warnings.simplefilter("ignore")
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(_silent)


_TRACE_LIMITS = tuple(
    f"{of_all}{limit}_limit" for limit in ("recompile", "cache_size") for of_all in ("", "accumulated_")
)
"""Dynamo's limits, by newer and older names; beyond them it runs differently, silently or with an error."""


def _silent(record: logging.LogRecord) -> bool:
    return False

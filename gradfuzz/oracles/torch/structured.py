"""Torch on structured loops: `while_loop` or `scan` in the functional form, through torch.autograd.

The source from `loops` runs here, and a reproducer shows the same. The constructs are prototypes: what they
lack stands in `lacks`, and any other exception is an error.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch

from gradfuzz.oracles.base import Answer, Oracle, Point, Question, Traits
from gradfuzz.oracles.torch.derivatives import Function
from gradfuzz.oracles.torch.loops import LOOPS, loop_source
from gradfuzz.oracles.torch.unrolled import TorchOracle, by_either, executed, of_wrt, traced
from gradfuzz.private_names import missing, private
from gradfuzz.programs.graphs.graph import Graph, Loop, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision

Style = Literal["while_loop", "scan"]

TRACER_SETTINGS = "torch._dynamo.config"

_SCAN_COUNTS = "torch's scan runs a number of trips known before it starts"


class Structured(TorchOracle):
    """One construct, through torch.autograd."""

    traits = Traits(sampling_stride=32)
    """More than a second for each question: torch compiles the loop anew."""
    differentiate = staticmethod(by_either)

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
        return missing(LOOPS[self.style], TRACER_SETTINGS)

    def answers(self, question: Question) -> list[Answer]:
        with undisturbed():
            return self._answers(question)

    def _answers(self, question: Question) -> list[Answer]:
        run = _compiled(lower(question.program), question.precision, self.style)
        torch.compiler.reset()  # traces of other programs must not matter
        last: list[int] | None = None

        def make(question: Question, point: Point) -> Function:
            nonlocal last
            trace = traced(question, point)
            if self.style == "scan" and last is not None and trace != last:
                torch.compiler.reset()  # nor traces of another length
            last = trace
            return of_wrt(run, question, point, torch.as_tensor)

        return [self.attempt(question, point, make) for point in question.points]


def structured_ways() -> list[Oracle]:
    """The entry points. Dynamo comes with a construct, so that is imported when a question is asked."""
    return [Structured("while_loop"), Structured("scan")]


def _compiled(graph: Graph, precision: Precision, style: str) -> Callable[..., Any]:
    """`graph` as a Python function of tensors."""
    _, source = loop_source(graph, precision, style)
    return executed(source, f"<torch:{style}>", precision, {style: private(LOOPS[style]), "cond": torch.cond})


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """No warnings, no log lines, and no limit on how often the constructs are traced."""
    settings = private(TRACER_SETTINGS)
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

"""Torch on structured loops: `while_loop` or `scan` in the functional form, through torch.autograd.

The source from `loops` runs here, and a reproducer shows the same. The constructs are prototypes: what they
cannot do often shows as a failed assertion or a refusal to trace, which counts as "unsupported". Whether
torch can differentiate through a construct in a given mode at all is tried once, on a loop of one
multiplication.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch.autograd import forward_ad

from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question, Traits
from gradfuzz.oracles.torch.derivatives import Function
from gradfuzz.oracles.torch.loops import LOOPS, loop_source
from gradfuzz.oracles.torch.unrolled import TorchOracle, by_either, executed, of_wrt, summary, traced
from gradfuzz.private_names import missing, private
from gradfuzz.programs.graphs.graph import Graph, Loop, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.text.parse import parse

Style = Literal["while_loop", "scan"]

TRACER_SETTINGS = "torch._dynamo.config"

_TRACER_ERROR = "torch._dynamo.exc.TorchDynamoException"

_SCAN_COUNTS = "torch's scan runs a number of trips known before it starts"


class Structured(TorchOracle):
    """One construct, through torch.autograd."""

    refusals = re.compile(TorchOracle.refusals.pattern + "|scan dimension > 0", re.IGNORECASE)
    """The last alternative is scan's message for zero iterations."""

    traits = Traits(sampling_stride=32)
    """More than a second for each question: torch compiles the loop anew."""
    differentiate = staticmethod(by_either)

    def __init__(self, style: Style) -> None:
        self.name = f"torch:{style}"
        self.style = style

    def limits(self) -> tuple[type[BaseException], ...]:
        return (NotImplementedError, AssertionError, private(_TRACER_ERROR))

    def supports(self, question: Question) -> str | None:
        """Tries whether torch has the modes at all, which takes about a second the first time."""
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
        gone = missing(LOOPS[self.style], _TRACER_ERROR, TRACER_SETTINGS)
        return gone or _missing(self.style, question.modes)

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


_PROBE = "def f(x):\n    acc = x * 1.0\n    for i in range(2):\n        acc = acc * x\n    return acc\n"


@functools.cache
def _missing(style: Style, modes: tuple[Mode, ...]) -> str | None:
    """Why torch has no derivative of these modes through the construct; None where it has.

    It is tried, because a forward step through a construct without a rule does not fail: the tangent is lost.
    """
    run = _compiled(lower(parse(_PROBE)), "float64", style)
    x, one = torch.tensor(0.5, dtype=torch.float64), torch.ones((), dtype=torch.float64)
    with undisturbed():
        torch.compiler.reset()
        try:
            if "fwd" in modes:
                with forward_ad.dual_level():
                    if forward_ad.unpack_dual(run(forward_ad.make_dual(x, one))).tangent is None:
                        return f"torch's {style} has no forward mode: it returns no tangent"
            by_either(lambda x: (run(x),), [x], [one], [one], modes)
        except Exception as error:  # noqa: BLE001 - any failure on a loop of one multiplication means that torch has no such derivative
            return f"torch's {style} has no derivative of modes {', '.join(modes)}: {summary(error)}"
    return None


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

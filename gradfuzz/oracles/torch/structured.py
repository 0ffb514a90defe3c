"""Torch on structured loops: `while_loop` or `scan` in the functional form, through torch.autograd.

The source from `loops` runs here, and a reproducer shows the same. The constructs are prototypes: what they
cannot do often shows as a failed assertion or a refusal to trace, which counts as "unsupported". Whether
torch can differentiate through a construct in a given mode at all is tried once, on a loop of one
multiplication.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import torch
from torch.autograd import forward_ad

from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question, Traits
from gradfuzz.oracles.torch.derivatives import Function
from gradfuzz.oracles.torch.loops import IMPORTS, loop_source
from gradfuzz.oracles.torch.unrolled import TorchOracle, by_either, executed, of_wrt, summary, traced
from gradfuzz.programs.graphs.graph import Graph, Loop, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.text.parse import parse

Style = Literal["while_loop", "scan"]

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
        from torch._dynamo.exc import TorchDynamoException

        return (NotImplementedError, AssertionError, TorchDynamoException)

    def supports(self, question: Question) -> str | None:
        """Tries whether torch has the modes at all, which takes about a second the first time."""
        missing = super().supports(question)
        if missing is not None:
            return missing
        if _constructs(self.style) is None:
            return f"this release of torch has no {self.style}"
        graph = lower(question.program)
        loops = [node for node in graph.walk() if isinstance(node, Loop)]
        if not loops:
            return "the program has no loop"
        if self.style == "scan":
            if any(loop.form != "for" for loop in loops):
                return f"{_SCAN_COUNTS}; this program has a loop that a condition ends"
            if any(isinstance(loop.count, Var) for loop in loops if loop not in graph.nodes):
                return "torch's scan inside a loop needs a constant number of trips"
        return _missing(self.style, question.modes)

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
    """The entry points whose construct the installed version has."""
    styles: tuple[Style, ...] = ("while_loop", "scan")
    return [Structured(style) for style in styles if importlib.util.find_spec(_module(style)) is not None]


def _module(name: str) -> str:
    """The module of a construct: Dynamo comes with it, so it is imported when a question is asked."""
    return IMPORTS[name].removeprefix("from ").partition(" import ")[0]


@functools.cache
def _constructs(style: str) -> Mapping[str, Any] | None:
    """The construct and `cond`, by name; None where torch lacks one of them."""
    names: dict[str, Any] = {}
    try:
        for name in (style, "cond"):
            names[name] = getattr(importlib.import_module(_module(name)), name)
    except (ImportError, AttributeError):
        return None
    return names


def _compiled(graph: Graph, precision: Precision, style: str) -> Callable[..., Any]:
    """`graph` as a Python function of tensors."""
    _, source = loop_source(graph, precision, style)
    return executed(source, f"<torch:{style}>", precision, _constructs(style) or {})


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
    from torch._dynamo import config as dynamo_config

    loggers = [name for name in logging.root.manager.loggerDict if name.startswith("torch")]
    handlers = [handler for name in loggers for handler in logging.getLogger(name).handlers]
    limits = {name: 1 << 20 for name in _TRACE_LIMITS if hasattr(dynamo_config, name)}
    for handler in handlers:
        handler.addFilter(_silent)
    try:
        with warnings.catch_warnings(), dynamo_config.patch(limits):
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

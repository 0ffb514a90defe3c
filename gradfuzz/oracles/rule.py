"""The rule of a way as an oracle of its own: the derivative that the library would run, in exact numbers.

The derivative of a question is traced, and the trace is evaluated in balls. Its answer has bounds, so it is
judged without an allowance for rounding, in float64 and below: a term that is wrong by 1e-12 shows. A trace
counts only where the numbers that the library computes confirm half of its digits.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence

import numpy as np

from gradfuzz.errors import EvaluationError, UntraceableError
from gradfuzz.oracles.base import UNTRACED, Answer, Array, Oracle, Question, Traits, by_output
from gradfuzz.oracles.references.balls import KERNELS, SAME, Enclosed, enclosures, roundings
from gradfuzz.oracles.said import telling
from gradfuzz.oracles.target_name import RULE
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.recent import Latest
from gradfuzz.programs.language.syntax import ArrayConst, Const
from gradfuzz.tracing.common.units import Unit


class RuleOracle(Oracle):
    """The rules of another way; `stride` is its share of a sweep's programs."""

    traits = Traits()

    def __init__(self, way: Oracle, stride: int) -> None:
        self.name = way.name.removesuffix(":nojit") + RULE
        self.version = way.version
        self.traits = Traits(secondary=True, sampling_stride=stride)
        self.way = way
        self._known: Latest[tuple[str, ...]] = Latest(64)

    @abc.abstractmethod
    def steps(self, question: Question, index: int) -> Iterable[Unit]:
        """The steps of the program at a point that have a rule, each with the place where it is written."""

    @abc.abstractmethod
    def traced(self, question: Question, index: int) -> tuple[Graph, Sequence[Array]]:
        """The derivative at a point as a graph, and what it takes there: floats by which nothing is folded.
        Its outputs are those of the program, and then the gradient. `UntraceableError` where there is none.
        """

    def supports(self, question: Question) -> str | None:
        if not question.modes:
            return "a value has no derivative rule"
        return self.way.supports(question)

    def answer(self, question: Question) -> list[Answer]:
        reason = self.supports(question)
        if reason is not None:
            return [Answer("unsupported", message=reason)] * len(question.points)
        (theirs,) = self.way.answer_all([question])
        with np.errstate(all="ignore"):
            return [self._at(question, k, answer) for k, answer in enumerate(theirs)]

    def _at(self, question: Question, index: int, theirs: Answer) -> Answer:
        """The answer at a point where the library says `theirs`."""
        if theirs.status == "error":  # that is told of the way itself
            return Answer("unsupported", message=f"{UNTRACED}the library does not compute it")
        if theirs.status != "ok":
            return theirs
        try:
            graph, given = self.traced(question, index)
        except Exception as error:  # noqa: BLE001 - whatever a library does when it is traced
            words = (
                error.reason
                if isinstance(error, UntraceableError)
                else telling(str(error)) or type(error).__name__
            )
            return Answer("unsupported", message=f"{UNTRACED}{words}")
        try:
            found = enclosures(graph, given, rounded=question.precision, known=constants(question))
        except EvaluationError as error:
            return Answer("inconclusive", message=f"the rule is not known here: {error}")
        count = len(theirs.values)
        outputs, gradient = found[:count], dict(zip(question.wrt, found[count:], strict=True))
        if not all(np.all(np.isfinite(one.middle)) for one in found):
            return Answer("inconclusive", message="the rule is not known to be finite here")
        if not _is_run(graph, given, gradient, theirs, question.precision):
            words = f"{UNTRACED}it misses a part of the rule, and does not give the library's answer"
            return Answer("unsupported", message=words)
        bounds = {**by_output(outputs), **gradient}
        return Answer(
            "ok",
            tuple(one.middle for one in outputs),
            {name: one.middle for name, one in gradient.items()},
            bounds={name: one.radius + SAME * np.abs(one.middle) for name, one in bounds.items()},
            rules=self._places(question, index),
        )

    def _places(self, question: Question, index: int) -> tuple[str, ...]:
        """Where the rules of a program are written, each once; empty where its steps cannot be had."""

        def found() -> tuple[str, ...]:
            try:
                steps = list(self.steps(question, index))
            except Exception:  # noqa: BLE001 - whatever a library does when it is taken apart
                return ()
            return tuple(dict.fromkeys(step.rule for step in steps if step.rule))

        return self._known.get((question.program, question.precision, question.modes[-1]), found)


def constants(question: Question) -> frozenset[float]:
    """The constants of a program, which stand for themselves: those that JAX or Torch adds may be rounded."""
    round_ = FORMATS[question.precision].dtype.type
    return frozenset(abs(float(round_(value))) for value in _literals(question.program))


def _literals(program: Program) -> list[float]:
    found: list[float] = []
    for node in walk(program):
        if isinstance(node, Const) and isinstance(node.value, float):
            found.append(node.value)
        elif isinstance(node, ArrayConst):
            found += [entry.value for entry in node.values if isinstance(entry.value, float)]
    return found


def _is_run(
    graph: Graph,
    given: Sequence[Array],
    gradient: dict[str, Enclosed],
    theirs: Answer,
    precision: Precision,
) -> bool:
    """Whether the numbers of the library are those of the traced rule, by half of the digits of each array or
    by what rounding does to it.
    """
    share = FORMATS[precision].half_of_the_digits
    near = [
        _within(one.middle, theirs.gradient[name], share * np.max(np.abs(one.middle), initial=0.0))
        for name, one in gradient.items()
    ]
    if all(near):
        return True
    try:
        rooms = roundings(graph, given, precision)[len(theirs.values) :]
    except EvaluationError:
        return True  # nobody knows how far rounding goes
    rows = zip(gradient.items(), rooms, strict=True)
    return all(
        _within(one.middle, theirs.gradient[name], share * np.abs(one.middle) + KERNELS * room)
        for (name, one), room in rows
    )


def _within(mine: Array, theirs: Array, room: Array) -> bool:
    """Whether two arrays differ by no more than `room`, which is no number where that is not known."""
    wide = np.asarray(theirs, np.float64)
    return mine.shape == wide.shape and not np.any(np.abs(mine - wide) > room)

"""A user's function as an oracle: it answers questions about the program of what it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.measuring.subject import Subject
from gradfuzz.libraries.library import Wanted, first_line
from gradfuzz.oracles.base import ALONG, Answer, Array, Mode, Oracle, Point, ProbedQuestion, Question
from gradfuzz.programs.language.precision import is_float

_SMALL = 64
"""A function of more entries is not asked twice, unless it is said."""


class FunctionOracle(Oracle):
    """The inputs of a question's program are those of the function, in their order.

    `failure` keeps the latest exception, unless it only said that a mode is missing.
    """

    def __init__(self, subject: Subject, exact: Subject | None = None) -> None:
        """The values come from `exact`, if given: those of an approximation are not tested."""
        self.name = f"{subject.framework.name}:{subject.label}"
        self.version = subject.framework.version
        self.failure: Exception | None = None
        self._subject = subject
        self._exact = exact
        self._asked_again = False

    def supports(self, question: Question) -> str | None:
        if self._subject.grad is not None and question.modes not in ((), ("rev",)):
            return "grad= gives the first derivative in reverse mode, and no other"
        way = self._subject.way
        if question.modes and way is not None and not way.takes(question.modes):
            return f"{way.name} asks for the last derivative in {' and '.join(way.modes)} mode only"
        return None

    def answer(self, question: Question) -> list[Answer]:
        return [self._at(question, point) for point in question.points]

    def often(self, question: Question) -> Callable[[Point], Answer]:
        """The answers at many other points; their values may be left out. A gradient that would be compiled
        at each of them is compiled once.
        """
        subject = self._subject
        is_probed = isinstance(question, ProbedQuestion) and question.modes[-1] == "fwd"
        is_plain = question.order == 1 and subject.way is None and subject.grad is None and not is_probed
        if not (is_plain and subject.compiles_anew):
            return lambda point: self._at(question, point)
        gradients = subject.gradients(question.weights, subject.precision, question.modes[0])
        names = [p.name for p in question.program.params]

        def ask(point: Point) -> Answer:
            try:
                found = gradients([np.asarray(point.inputs[name]) for name in names])
            except Exception as error:  # noqa: BLE001 - whatever a function or its derivative raises is its answer
                return self._refused(error, question.modes)
            return Answer("ok", (), dict(zip(question.wrt, found, strict=True)))

        return ask

    def _at(self, question: Question, point: Point) -> Answer:
        names = [p.name for p in question.program.params]
        inputs = [np.asarray(point.inputs[name]) for name in names]
        directions = [np.asarray(question.directions[name]) for name in question.wrt]
        try:
            if not question.modes:
                return Answer("ok", self._values(self._subject.values(inputs)))
            wanted = Wanted(question.weights, directions, question.modes)
            if isinstance(question, ProbedQuestion) and question.modes[-1] == "fwd":
                probes = [[np.asarray(probe[name]) for name in question.wrt] for probe in question.probes]
                values, slopes = self._subject.products(inputs, wanted, probes)
                gradient = {ALONG: slopes}
            else:
                values, found = self._derivative(inputs, wanted)
                gradient = dict(zip(question.wrt, found, strict=True))
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a function or its derivative raises is its answer
            return self._refused(error, question.modes)
        values = values if self._exact is None else self._exact.values(inputs)
        return Answer("ok", self._values(values), gradient)

    def _derivative(self, inputs: Sequence[Array], wanted: Wanted) -> tuple[list[Array], list[Array]]:
        """The outputs and the gradient. A small function is once asked for it twice over one graph."""
        subject, library = self._subject, self._subject.framework
        size = sum(np.size(inputs[k]) for k in subject.wrt)
        plain = subject.way is None and subject.grad is None and tuple(wanted.modes) == ("rev",)
        if not self._asked_again and plain and library.twice and 0 < size <= _SMALL:
            self._asked_again = True
            try:
                return subject.derivative(inputs, wanted, twice=True)
            except Exception as error:
                if library.refusal(error, wanted.modes, library.twice) is None:
                    raise
        return subject.derivative(inputs, wanted)

    def _refused(self, error: Exception, modes: Sequence[Mode]) -> Answer:
        way = "" if self._subject.way is None else self._subject.way.name
        refusal = self._subject.framework.refusal(error, modes, way) if modes else None
        if refusal is not None:
            return Answer("unsupported", message=refusal)
        self.failure = error
        return Answer("error", message=f"{type(error).__name__}: {first_line(error)}")

    def _values(self, values: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs, floats in the working precision: the dtype of a function's value is not tested."""
        with np.errstate(over="ignore"):
            return tuple(np.asarray(y, self._subject.precision) if is_float(y.dtype) else y for y in values)

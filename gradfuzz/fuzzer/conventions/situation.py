"""What a row looks at: an answer that is wrong by the truth, and what was asked.

AtPoint    the answer about a program at a point
OfCall     the answer about a call of a library's function. The inputs of the question are the differentiated
           arrays of the call, in order; a complex array is two, its real and its imaginary part
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.conventions.accepted import Accepted, Alternative, Span, UnknownError, right_by
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.results.views import seen
from gradfuzz.fuzzer.tolerance.allowed import Tolerance
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.fuzzer.verdict.classify import (
    Comparison,
    classify_entry,
    compare,
    error_over_allowed,
    ratio_of,
)
from gradfuzz.oracles.base import Array, Question, Slopes, Truth
from gradfuzz.programs.language.precision import Precision

_ROUNDINGS = 64.0
"""A prediction is computed in the precision of the answer, from numbers that are rounded this many times."""

Lines = Sequence[tuple[Slopes, float]]
"""Directions with the slopes on both sides, and what is granted of each beside what adds up from the entries.
"""


class Situation(abc.ABC):
    """A wrong case, and what an answer may lie outside of what is accepted."""

    case: CheckResult
    got: Mapping[str, Array]
    """The gradient of the answer, by the names that a prediction has."""

    @property
    def lines(self) -> Lines:
        return ()

    @property
    def right(self) -> dict[str, Span]:
        """What is right by the truth; `UnknownError` where it is not known of every input."""
        return self._known(right_by(self.case.truth))

    def _known(self, spans: Mapping[str, Span] | None) -> dict[str, Span]:
        if spans is None or not set(self.got) <= set(spans):
            raise UnknownError
        return {name: spans[name] for name in self.got}

    @abc.abstractmethod
    def granted(self, name: str, span: Span) -> Array:
        """What an answer may lie outside of a span that does not say it."""

    def accepts(self, accepted: Accepted) -> bool:
        """Whether the answer is one of those that are accepted."""
        if accepted is None or isinstance(accepted, str):
            return False
        return any(self._has_shapes(one) and _is_inside(self.compared(one)[0]) for one in accepted)

    def _has_shapes(self, one: Alternative) -> bool:
        shapes = {name: np.shape(span.low) for name, span in one.items()}
        return shapes == {name: np.shape(g) for name, g in self.got.items()}

    def compared(self, accepted: Alternative) -> tuple[Comparison | None, str]:
        """The entry of the answer that decides, next to the nearest accepted number: `kind` is None where all
        are accepted.

        An answer whose slope along one of the lines is not between those on both sides is not accepted
        either. Then the entry that has the largest part in it decides, next to what it would have to be, and
        there is a message.
        """
        got, precision = self.got, self.case.question.precision
        granted = {n: self.granted(n, s) if s.granted is None else s.granted for n, s in accepted.items()}
        allowed = {n: np.where(s.is_free(got[n]), np.inf, granted[n]) for n, s in accepted.items()}
        comparison = compare({n: s.nearest(got[n]) for n, s in accepted.items()}, got, allowed, precision)
        if not _is_inside(comparison) or any(np.any(s.is_free(got[n])) for n, s in accepted.items()):
            return comparison, ""
        for line, more in self.lines:
            found = _along(line, got, granted, more, precision)
            if found is not None:
                return found
        return comparison, ""


def _along(
    line: Slopes, got: Mapping[str, Array], granted: Mapping[str, Array], more: float, precision: Precision
) -> tuple[Comparison, str] | None:
    """The entry that decides where the slope along a line is not between those on both sides."""
    parts = {name: d * got[name] for name, d in line.direction.items()}
    slope = math.fsum(p for part in parts.values() for p in part.ravel().tolist())
    off = more + math.fsum(float(np.sum(np.abs(d) * granted[n])) for n, d in line.direction.items())
    nearest = min(max(slope, min(line.left, line.right)), max(line.left, line.right))
    if classify_entry(nearest, slope, off) is None:
        return None
    name = max(parts, key=lambda n: float(np.max(np.abs(parts[n]), initial=0.0)))
    largest = int(np.argmax(np.abs(parts[name])))
    index = tuple(int(k) for k in np.unravel_index(largest, parts[name].shape))
    d, entry = float(line.direction[name][index]), float(got[name][index])
    expected, error = entry + (nearest - slope) / d, error_over_allowed(nearest, slope, off)
    kind = classify_entry(expected, entry, off / abs(d), precision)
    told = ", ".join(f"{n}: {along.tolist()}" for n, along in line.direction.items())
    message = (
        f"along the direction ({told}) the answer's slope is {slope:.7g}, and the slopes on both sides of"
        f" the kink are {line.left:.7g} and {line.right:.7g}"
    )
    ratio = ratio_of(expected, entry)
    return Comparison(kind, (name, index), expected, entry, ratio, error, error), message


def _is_inside(comparison: Comparison | None) -> bool:
    return comparison is None or comparison.kind is None


@dataclass(frozen=True, eq=False)
class AtPoint(Situation):
    """The answer about a program at a point; `case.allowed` is what it may be off."""

    case: CheckResult
    got: Mapping[str, Array]
    tolerance: Tolerance
    side: Alternative | None = None
    """What the engine computes, with what is granted: the gradient of the sides that the comparisons take.
    None where it is not known.
    """

    @property
    def lines(self) -> Lines:
        """Those along which the truth has slopes."""
        found = []
        for line in () if self.case.truth is None else self.case.truth.across:
            size = np.asarray(max(abs(line.left), abs(line.right)))
            found.append((line, float(self.tolerance.allowed(size, np.zeros(()), np.asarray(line.bound)))))
        return found

    def granted(self, name: str, span: Span) -> Array:
        return self.case.allowed[name]


class OfCall(Situation):
    """The answer about a call. Another package knows how the call is made again."""

    def __init__(self, call: Call, case: CheckResult) -> None:
        self.call, self.case = call, case
        gradient = case.answer.gradient
        self.got = {n: np.asarray(gradient.get(n, math.nan), np.float64) for n in case.question.wrt}

    @abc.abstractmethod
    def returned(self, *arrays: Array) -> Any:
        """What the function itself returns; of these `arrays`, where they are given."""

    @abc.abstractmethod
    def floats(self, result: Any) -> list[Array]:
        """The arrays of floats in what the function returned."""

    @abc.abstractmethod
    def truth(self, call: Call, question: Question, weight: Callable[[Array, Array], Array]) -> Truth:
        """The truth about another call with the same arrays, by its own differences. `weight` makes the
        weight of an output from that of the question and the output's value.
        """

    def granted(self, name: str, span: Span) -> Array:
        """What the entry is allowed, and its prediction is rounded; anything where any number is allowed."""
        ends = [np.abs(end[np.isfinite(end)]) for end in map(np.asarray, (span.low, span.high))]
        size = max(float(np.max(end, initial=0.0)) for end in ends)
        rounded = _ROUNDINGS * unit_roundoff(self.case.question.precision) * size
        return np.where(self.is_unknown(name), np.inf, rounded + self.granted_to(name))

    def is_unknown(self, name: str) -> Array:
        """Where any number is allowed, since the truth is not known."""
        return np.isinf(self.case.allowed.get(name, 0.0))

    def granted_to(self, name: str) -> Array:
        """What each entry is allowed, and the bound of its truth; 0 where they are not known."""
        bounds = {} if self.case.truth is None else self.case.truth.bounds
        allowed, bound = (np.asarray(known.get(name, 0.0)) for known in (self.case.allowed, bounds))
        return np.where(np.isfinite(allowed), allowed, 0.0) + np.where(np.isfinite(bound), bound, 0.0)

    @property
    def is_plain(self) -> bool:
        """Whether the weights of the question are the cotangents of the function itself: not so inside other
        functions, and at second order.
        """
        return self.call.form in ("alone", "compiled") and self.case.question.order == 1

    @property
    def cotangents(self) -> list[Array]:
        """The weights of the outputs that have one; `UnknownError` where they are not its cotangents."""
        if not self.is_plain:
            raise UnknownError
        return [w for w in self.case.question.weights if w is not None]

    @property
    def arrays(self) -> list[Array]:
        """The entries of all arrays."""
        return [seen(one) for one in self.call.arrays()]

    @property
    def differentiated(self) -> list[Array]:
        """The entries of those that are differentiated."""
        return [seen(one) for one in self.call.differentiated()]

    def named(self) -> Iterator[tuple[Argument, list[str]]]:
        """The differentiated arrays, with the names of their inputs."""
        names = iter(self.case.question.wrt)
        for one in self.call.differentiated():
            yield one, [next(names) for _ in range(1 + one.is_complex)]

    def given(self, keyword: str, place: int | None = None) -> str | None:
        """The literal of an argument, by name or by place."""
        arguments = self.call.arguments
        by_place = arguments[place : place + 1] if place is not None else ()
        found = [*(a for a in arguments if a.keyword == keyword), *(a for a in by_place if not a.keyword)]
        return next((a.literal for a in found if a.literal is not None), None)

    def has(self, *keywords: str) -> bool:
        """Whether an argument is passed by one of these keywords."""
        return any(argument.keyword in keywords for argument in self.call.arguments)

    def measured(
        self,
        call: Call,
        weight: Callable[[Array, Array], Array] = lambda w, y: w,
        inputs: Mapping[str, Array] | None = None,
    ) -> dict[str, Span]:
        """What is right at another call with the same arrays, or these `inputs`."""
        if not self.is_plain:
            raise UnknownError
        question = self.case.question
        if inputs is not None:
            question = replace(question, points=(replace(self.case.point, inputs=inputs),))
        truth = self.truth(call, question, weight)
        bounds = truth.bounds if truth.status == "ok" else truth.side_bounds or {}
        spans = self._known(right_by(truth)).items()
        return {name: Span(one.low - bounds[name], one.high + bounds[name]) for name, one in spans}

"""Answers that are accepted at a call: a span for each entry of the gradient.

Each input of a question has a span: its lowest and its highest accepted numbers, entry by entry, and where no
number is an answer as well. A prediction is a list of alternatives, each a span for every input; an answer is
accepted that lies in all spans of one alternative. `UNDEFINED` stands where nothing can be predicted, None
where the row is not about the call.

The inputs of a question are the differentiated arrays of a call, in order; a complex array is two inputs, its
real and its imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gradfuzz.calls.asking import called, values_of
from gradfuzz.calls.drawing.views import seen
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.oracles.base import Array, Truth
from gradfuzz.testing.measuring.numeric import numeric_truth
from gradfuzz.testing.measuring.subject import subject_of

_ROUNDINGS = 64.0
"""A prediction is computed in the precision of the answer, from numbers that are rounded this many times."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The accepted numbers of one input, entry by entry; `nan`: NaN and infinity are accepted, too."""

    low: Array
    high: Array
    nan: Array | bool = False

    def times(self, factor: Array | float) -> Span:
        """The span of a gradient that is scaled; no factor is below 0."""
        return replace(self, low=self.low * factor, high=self.high * factor)


Alternative = Mapping[str, Span]
"""By the name of an input."""

UNDEFINED: Literal["undefined"] = "undefined"
RAISES: Literal["raises"] = "raises"
"""An exception is the accepted answer."""

Accepted = Sequence[Alternative] | Literal["undefined", "raises"] | None
Accepts = Callable[[Call, CheckResult], Accepted]


ENDS = (np.minimum, np.maximum)
"""The lower and the upper one of two numbers."""


def is_complex(argument: Argument) -> bool:
    """Whether it is an array of complex numbers."""
    return argument.array is not None and argument.array.dtype.kind == "c"


def is_square(x: Array) -> bool:
    """Whether it is a square matrix, or a stack of them, larger than 1x1."""
    return x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1


def integers(call: Call) -> list[Array]:
    """The arrays of integers."""
    return [x for one in call.arrays() if (x := seen(one)).dtype.kind in "iu"]


def named(call: Call, case: CheckResult) -> Iterator[tuple[Argument, list[str]]]:
    """The differentiated arrays, with the names of their inputs."""
    names = iter(case.question.wrt)
    for one in call.differentiated():
        yield one, [next(names) for _ in range(1 + is_complex(one))]


def exactly(gradient: Mapping[str, Array]) -> Alternative:
    """Nothing but this gradient is accepted."""
    return {name: Span(slope, slope) for name, slope in gradient.items()}


def spans_of(truth: Truth | None, names: Sequence[str]) -> dict[str, Span] | None:
    """What is right by the truth: the derivative, or what lies between its one-sided slopes. None where it is
    not known of every input.
    """
    if truth is None:
        return None
    if set(names) <= set(truth.gradient):
        return dict(exactly({name: truth.gradient[name] for name in names}))
    left, right = truth.left, truth.right
    if left is None or right is None or not set(names) <= set(left):
        return None
    return {n: Span(np.minimum(left[n], right[n]), np.maximum(left[n], right[n])) for n in names}


def right(call: Call, case: CheckResult) -> dict[str, Span] | None:
    """What is right at the case's question."""
    return spans_of(case.truth, case.question.wrt)


def fits(accepted: Sequence[Alternative], case: CheckResult) -> bool:
    """Whether the answer is one of those that are accepted."""
    return any(all(_lies(name, one, case) for name in case.question.wrt) for one in accepted)


def _lies(name: str, alternative: Alternative, case: CheckResult) -> bool:
    span, got = alternative.get(name), case.answer.gradient.get(name)
    if span is None or got is None or np.shape(got) != np.shape(span.low):
        return False
    got = np.asarray(got, np.float64)
    ends = [np.abs(end[np.isfinite(end)]) for end in (span.low, span.high)]
    size = max(float(np.max(end, initial=0.0)) for end in ends)
    rounded = _ROUNDINGS * unit_roundoff(case.question.precision) * size
    granted = rounded + granted_to(name, case)
    inside = (got >= span.low - granted) & (got <= span.high + granted) & np.isfinite(got)
    return bool(np.all(inside | (~np.isfinite(got) & span.nan) | np.isinf(case.allowed.get(name, 0.0))))


def granted_to(name: str, case: CheckResult) -> Array:
    """What each entry is allowed, and the bound of its truth; 0 where they are not known."""
    bounds = {} if case.truth is None else case.truth.bounds
    allowed, bound = (np.asarray(known.get(name, 0.0)) for known in (case.allowed, bounds))
    return np.where(np.isfinite(allowed), allowed, 0.0) + np.where(np.isfinite(bound), bound, 0.0)


def is_plain(call: Call, case: CheckResult) -> bool:
    """Whether the weights of the question are the cotangents of the function itself."""
    return call.form in ("alone", "compiled") and case.question.order == 1


def pulled(argument: Argument, entries: Array) -> Array:
    """The gradient by the array of which an argument is a view, from that by the view's entries."""
    stored = np.asarray(argument.array)
    places = seen(replace(argument, array=np.arange(stored.size).reshape(stored.shape)))
    found = np.bincount(places.ravel(), weights=np.ravel(entries), minlength=stored.size)
    return found.reshape(stored.shape)


def measured(
    call: Call, case: CheckResult, weight: Callable[[Array, Array], Array] = lambda w, y: w
) -> dict[str, Span] | None:
    """What is right at another call with the same arrays, by its own differences. `weight` makes the weight
    of an output from that of the question and the output's value.
    """
    library = library_named(call.library)
    arrays = [library.array(value) for value in values_of(call)]
    subject = subject_of(called(call, library), arrays, None, None, library.name)
    (point,) = case.question.points
    values = subject.values([np.asarray(point.inputs[p.name]) for p in case.question.program.params])
    pairs = zip(case.question.weights, values, strict=True)
    weights = tuple(None if w is None else weight(w, np.asarray(y)) for w, y in pairs)
    question = replace(case.question, weights=weights)
    truth = numeric_truth(subject, question).truth
    bounds = truth.bounds if truth.status == "ok" else truth.side_bounds or {}
    spans = spans_of(truth, case.question.wrt)
    return spans and {n: Span(one.low - bounds[n], one.high + bounds[n]) for n, one in spans.items()}

"""Answers that are accepted: a span for each entry of the gradient.

A prediction is a list of alternatives, each a span for every input; an answer is accepted that lies in all
spans of one alternative. `UNDEFINED` stands where nothing can be predicted, None where the row is not about
what was asked. What lies between one-sided slopes is such a span, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gradfuzz.oracles.base import Array, Truth


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The accepted numbers of one input, entry by entry."""

    low: Array
    high: Array
    nan: Array | bool = False
    """Whether NaN is accepted, too."""
    infinite: Array | bool = False
    """Whether infinity is."""
    granted: Array | None = None
    """What an answer may lie outside; None: what it is allowed where it was asked."""

    def times(self, factor: Array | float) -> Span:
        """The span of a gradient that is scaled; no factor is below 0."""
        return replace(self, low=self.low * factor, high=self.high * factor)

    def or_no_number(self, where: Array | bool = True) -> Span:
        """The same, or no finite number."""
        return replace(self, nan=where, infinite=where)

    def nearest(self, got: Array) -> Array:
        """The accepted numbers next to those of an answer."""
        return np.where(np.isnan(got), self.low, np.clip(got, self.low, self.high))

    def is_free(self, got: Array) -> Array:
        """Where an answer is no number, and that is accepted."""
        return np.asarray((np.isnan(got) & self.nan) | (np.isinf(got) & self.infinite))


Alternative = Mapping[str, Span]
"""By the name of an input."""

UNDEFINED: Literal["undefined"] = "undefined"
RAISES: Literal["raises"] = "raises"
"""An exception is the accepted answer."""

Accepted = Sequence[Alternative] | Literal["undefined", "raises"] | None
Accepts = Callable[[Any], Accepted]
"""Of a `Situation`: of that of a program, or of a call."""


class UnknownError(Exception):
    """What a prediction stands on is not known: nothing is predicted."""


ENDS = (np.minimum, np.maximum)
"""The lower and the upper one of two numbers."""


def exactly(gradient: Mapping[str, Array]) -> dict[str, Span]:
    """Nothing but this gradient is accepted."""
    return {name: Span(slope, slope) for name, slope in gradient.items()}


def right_by(truth: Truth | None) -> dict[str, Span] | None:
    """What is right: the derivative, or what lies between the slopes on both sides; None: nobody knows."""
    if truth is None:
        return None
    if truth.status == "ok":
        return exactly(truth.gradient)
    left, right = truth.left, truth.right
    if left is None or right is None:
        return None
    return {n: Span(*(end(slope, right[n]) for end in ENDS)) for n, slope in left.items()}

"""A library with a gradient and a slope of its own, which are nested for higher orders and mixed modes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import UnsupportedError, UntraceableError
from gradfuzz.libraries.library import ArrayFunction, Differentiated, Library, NoModeError, Scalar, Wanted
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

_SLOW = 0.1
"""Seconds of work along one direction, after the first, from which on forward mode is not asked."""


class ComposedLibrary(Library):
    """A library whose functions are not traced: the truth about them is measured. What its module has as
    `gradient` and `slope` can be differentiated.
    """

    def derivative(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        outputs: Sequence[Any] = f(*xs)
        g = self.nested(f, xs, wanted)
        if wanted.modes[-1] == "rev":
            return outputs, self.function("gradient")(g, xs)
        return outputs, [self._each(g, xs, k) for k in range(len(xs))]

    def push(
        self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted, probe: Sequence[Array]
    ) -> tuple[Sequence[Any], Any] | None:
        if len(wanted.modes) > 1:
            return None
        along = [self.like(v, x) for v, x in zip(probe, xs, strict=True)]
        return f(*xs), self.function("slope")(self.nested(f, xs, wanted), xs, along)

    def traced(
        self, call: ArrayFunction, arrays: Sequence[Array], rounded: Precision | None = None
    ) -> Program:
        raise UntraceableError(f"functions of {self.name} are not traced")

    def _each(self, g: Scalar, xs: Sequence[Any], k: int) -> Any:
        """The gradient by the argument of number k, a slope along each unit direction."""
        zeros = [np.zeros(np.shape(self.numpy(x))) for x in xs]
        slopes = np.zeros(zeros[k].shape, self.numpy(xs[k]).dtype)
        for count, index in enumerate(np.ndindex(slopes.shape)):
            unit = [z.copy() for z in zeros]
            unit[k][index] = 1.0
            begun = time.process_time()
            along = [self.like(u, x) for u, x in zip(unit, xs, strict=True)]
            slopes[index] = self.numpy(self.function("slope")(g, xs, along))
            if count and time.process_time() - begun > _SLOW:  # the first may compile
                raise NoModeError("forward mode of so many operations takes too long one by one")
        return self.array(slopes, xs[k])


def connected(name: str, slopes: Sequence[Sequence[object]]) -> tuple[int, ...] | None:
    """The numbers of the results that have a gradient by some argument; None where all have.

    `slopes` has a row for each result, with the gradient by each argument, or None where the library says
    that there is none. `UnsupportedError` where there is none by one of the arguments: other functions would
    take it for 0.
    """
    for k in range(len(slopes[0]) if slopes else 0):
        if all(row[k] is None for row in slopes):
            raise UnsupportedError(f"{name} returns None for the gradient by its array {k + 1}")
    found = tuple(k for k, row in enumerate(slopes) if any(slope is not None for slope in row))
    return found if len(found) < len(slopes) else None

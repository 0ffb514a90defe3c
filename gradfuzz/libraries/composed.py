"""A library with a gradient and a slope of its own, which are nested for higher orders and mixed modes."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import UntraceableError
from gradfuzz.libraries.library import ArrayFunction, Library, NoModeError
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.language.program import Program

_SLOW = 0.1
"""Seconds of work along one direction, after the first, from which on forward mode is not asked."""

Scalar = Callable[..., Any]
"""A function of arrays with a scalar array as its result."""


class ComposedLibrary(Library):
    """A library whose functions are not traced: the truth about them is measured."""

    """A library's module has `gradient(g, xs)`, the gradient of a scalar function by all its arrays, and
    `slope(g, xs, directions)`, its derivative in forward mode; both can be differentiated.
    """

    @abc.abstractmethod
    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        """The sum of all products of entries, in the dtype of `like`; a zero for no arrays."""

    def derivative(
        self,
        f: ArrayFunction,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        along = [self.like(v, x) for v, x in zip(directions, xs, strict=False)]
        outputs: Sequence[Any] = f(*xs)
        g = self._objective(f, weights, xs[0])
        for mode in modes[:-1]:
            g = self._along(g, along, mode)
        if modes[-1] == "rev":
            return outputs, self.function("gradient")(g, xs)
        return outputs, [self._each(g, xs, k) for k in range(len(xs))]

    def push(
        self,
        f: ArrayFunction,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
        probe: Sequence[Array],
    ) -> tuple[Sequence[Any], Any] | None:
        if len(modes) > 1:
            return None
        along = [self.like(v, x) for v, x in zip(probe, xs, strict=True)]
        return f(*xs), self.function("slope")(self._objective(f, weights, xs[0]), xs, along)

    def traced(self, call: ArrayFunction, arrays: Sequence[Array]) -> Program:
        raise UntraceableError(f"functions of {self.name} are not traced")

    def _objective(self, f: ArrayFunction, weights: Sequence[Array | None], like: Any) -> Scalar:
        def objective(*xs: Any) -> Any:
            pairs = [(self.like(w, like), y) for w, y in zip(weights, f(*xs), strict=True) if w is not None]
            return self.inner([w for w, _ in pairs], [y for _, y in pairs], like)

        return objective

    def _along(self, g: Scalar, directions: Sequence[Any], mode: Mode) -> Scalar:
        def slope(*xs: Any) -> Any:
            if mode == "fwd":
                return self.function("slope")(g, xs, directions)
            return self.inner(directions, self.function("gradient")(g, xs), xs[0])

        return slope

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

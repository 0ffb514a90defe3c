"""What a framework of arrays must say of itself so that a function of its arrays can be asked for
derivatives.

All methods that compute take and return the framework's own arrays, but for `derivative`, which takes NumPy's
and returns them.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import Program
from gradfuzz.testing.tracing.leaves import leaves_of, with_leaves

FrameworkName = Literal["jax", "torch", "autograd", "numpy"]

Call = Callable[..., tuple[Any, ...]]
"""A function of the framework's real arrays that returns a tuple of them."""

Tree = tuple[list[tuple[str, Any]], Callable[[Sequence[Any]], Any]]
"""The leaves of an argument with their paths, and what puts an argument together from leaves."""


class Framework(abc.ABC):
    """One framework."""

    name: FrameworkName
    version: str

    def context(self, precision: Precision) -> contextlib.AbstractContextManager[Any]:
        """Entered around all that is computed in `precision`."""
        return contextlib.nullcontext()

    def tree(self, value: Any, path: str) -> Tree:
        """An argument or a result, taken apart."""
        return list(leaves_of(value, path)), lambda leaves: with_leaves(value, iter(leaves))

    def prepared(self, call: Call) -> Call:
        """`call` made ready to be evaluated hundreds of times."""
        return call

    @abc.abstractmethod
    def is_array(self, value: Any) -> bool:
        """Whether it is an array of this framework, traced or not."""

    @abc.abstractmethod
    def array(self, value: Array, like: Any = None) -> Any:
        """A NumPy array as one of the framework's, where `like` lives."""

    def like(self, value: Array, other: Any) -> Any:
        """A NumPy array as one of the framework's, in the dtype of `other`."""
        return self.array(np.asarray(value, getattr(other, "dtype", None)), other)

    def numpy(self, value: Any) -> Array:
        """One of the framework's arrays, or a number, as NumPy's."""
        return np.asarray(value)

    @abc.abstractmethod
    def pair(self, re: Any, im: Any) -> Any:
        """The complex array of two real ones."""

    @abc.abstractmethod
    def parts(self, z: Any) -> tuple[Any, Any]:
        """Its real and its imaginary part."""

    @abc.abstractmethod
    def is_complex(self, value: Any) -> bool: ...

    @abc.abstractmethod
    def derivative(
        self,
        f: Call,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """The outputs of `f(*xs)`, and the derivative that `modes` and the rest say (see `oracles.base`) by
        each of `xs`.

        Raises whatever the framework raises.
        """

    def refusal(self, error: Exception) -> str | None:
        """Why the function has no derivative in these modes, where that is what the error says; None where it
        is a failure.
        """
        return (
            f"{type(error).__name__}: {first_line(error)}" if isinstance(error, NotImplementedError) else None
        )

    @abc.abstractmethod
    def traced(self, call: Call, arrays: Sequence[Array]) -> Program:
        """The function as a program; `UntraceableError` where it cannot be said as one."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return next(iter(str(error).strip().splitlines()), "")

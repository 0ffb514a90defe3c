"""The interface of an array framework, by which a function of its arrays is asked for derivatives.

All methods that compute take and return the framework's own arrays, except `derivative`, which takes NumPy
arrays as weights and directions.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradfuzz.errors import UntraceableError
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.oracles.said import spoken, telling
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.tracing.common.leaves import leaves_of, with_leaves
from gradfuzz.tracing.common.units import Unit

FrameworkName = Literal["jax", "torch", "autograd", "tensorflow", "mlx", "paddle", "numpy"]

Call = Callable[..., tuple[Any, ...]]
"""A function of the framework's real arrays that returns a tuple of them."""

Tree = tuple[list[tuple[str, Any]], Callable[[Sequence[Any]], Any]]
"""The leaves of an argument with their paths, and a function that rebuilds an argument from leaves."""


class NoModeError(NotImplementedError):
    """gradfuzz itself asks for no derivative of this kind."""


@dataclass(frozen=True, slots=True)
class NoMode:
    """A derivative that a framework lacks by its documents or its source, and the words by which it says so.

    An exception with these words is a refusal where the modes hold "fwd", where they hold "rev", or where
    they are `many`. No other exception is one: it stands in the place of a derivative.
    """

    words: str
    fwd: bool = False
    rev: bool = False
    many: bool = False

    def speaks(self, error: Exception, modes: Sequence[Mode]) -> bool:
        fits = self.fwd and "fwd" in modes, self.rev and "rev" in modes, self.many and len(modes) > 1
        return any(fits) and self.words in str(error)


class Framework(abc.ABC):
    name: FrameworkName
    version: str
    no_mode: tuple[NoMode, ...] = ()
    """The derivatives that the framework lacks."""
    roundoff = 0.0
    """What the values of some of its functions are known to be off, relative to their size, in float64."""

    def context(self, precision: Precision) -> contextlib.AbstractContextManager[Any]:
        """A context for all computations in `precision`."""
        return contextlib.nullcontext()

    def tree(self, value: Any, path: str) -> Tree:
        """The leaves of an argument or a result."""
        return list(leaves_of(value, path)), lambda leaves: with_leaves(value, iter(leaves))

    def tidy(self) -> None:
        """Called after a check: gives back what the library keeps of functions that will not come again."""
        return

    def prepared(self, call: Call) -> Call:
        """`call` as it is evaluated at `operand`s."""
        return call

    def repeated(self, call: Call) -> Call:
        """`call`, which may be a prepared one, as it is evaluated at hundreds of `operand`s."""
        return call

    def operand(self, value: Array, like: Any = None) -> Any:
        """A NumPy array as prepared and repeated functions take it."""
        return self.given(value, like)

    def at_once(self, call: Call) -> Call:
        """`call` prepared for one evaluation whose last digits do not matter."""
        return call

    def without_derivative(
        self, leaves: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> frozenset[int]:
        """The numbers of those of `leaves(*arrays)`, the leaves of a result, that the library's own functions
        made and that have no derivative by the library's own word; none where no other float would be left.
        """
        return frozenset()

    @abc.abstractmethod
    def is_array(self, value: Any) -> bool:
        """Whether it is an array of this framework, traced or not."""

    @abc.abstractmethod
    def array(self, value: Array, like: Any = None) -> Any:
        """A NumPy array as one of the framework's, on the device of `like`."""

    def given(self, value: Array, like: Any = None) -> Any:
        """The same outside of a function that is traced."""
        return self.array(value, like)

    def like(self, value: Array, other: Any) -> Any:
        """A NumPy array as one of the framework's, in the dtype of `other`."""
        return self.array(np.asarray(value, getattr(other, "dtype", None)), other)

    def numpy(self, value: Any) -> Array:
        """An array of the framework, or a number, as a NumPy array."""
        return np.asarray(value)

    @abc.abstractmethod
    def pair(self, re: Any, im: Any) -> Any:
        """The complex array with these real and imaginary parts."""

    @abc.abstractmethod
    def parts(self, z: Any) -> tuple[Any, Any]:
        """The real and the imaginary part of `z`."""

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
        """The outputs of `f(*xs)`, and the derivative by each of `xs` that the other arguments define (see
        `oracles.base`).

        Raises whatever the framework raises.
        """

    def push(
        self,
        f: Call,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
        probe: Sequence[Array],
    ) -> tuple[Sequence[Any], Any] | None:
        """The outputs of `f(*xs)`, and the derivative in `modes`, of which the last is "fwd", along `probe`;
        None where the framework has no way of its own for it.
        """
        return None

    def refusal(self, error: Exception, modes: Sequence[Mode]) -> str | None:
        """Why the function lacks a derivative in these modes, if the error says so; None for a failure."""
        said = isinstance(error, NoModeError) or any(row.speaks(error, modes) for row in self.no_mode)
        return first_line(error) if said else None

    def constants(self, f: Callable[..., Any]) -> tuple[int, ...]:
        """The numbers of the arguments of `f` that it takes unchanged, by its own declaration."""
        return ()

    @abc.abstractmethod
    def traced(self, call: Call, arrays: Sequence[Array]) -> Program:
        """The function as a program; `UntraceableError` if there is none."""

    def graph(self, call: Callable[..., Any], arrays: Sequence[Array], *, derivative: bool = False) -> Graph:
        """A function of the framework's arrays as a graph; `derivative` says that it is one, in which a value
        may be hidden from differentiation. `UntraceableError` if there is none.
        """
        raise UntraceableError(f"the derivatives of {self.name} are not traced; those of JAX and Torch are")

    def units(self, call: Callable[..., Any], arrays: Sequence[Array], mode: Mode) -> Iterable[Unit]:
        """The steps of a function at `arrays` that have a rule each, for `mode`; none where they are not
        known.
        """
        return ()


def first_line(error: BaseException) -> str:
    """The line of an error's message that says what happened, which is mostly the first."""
    return telling(str(spoken(error)))

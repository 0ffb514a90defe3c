"""The interface of a library whose functions are called: how arguments are made, run, and written down."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.calls.libraries.watching import Note, patched
from gradfuzz.errors import UnsupportedError
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName


class Library(abc.ABC):
    """Arrays are the library's own, except where the type is `Array`."""

    name: FrameworkName
    entries = 64
    """The most entries of the differentiated arrays of a call: forward mode asks for them one by one."""
    careful = False
    """Whether `check` looks first, if the library can, at what may end the process: after it ended once."""

    @property
    def version(self) -> str:
        """The version of the library."""
        return framework_named(self.name).version

    def numpy(self, x: Any) -> Array:
        """An array of the library as NumPy's."""
        return framework_named(self.name).numpy(x)

    # Running

    @abc.abstractmethod
    def array(self, value: Array) -> Any:
        """A NumPy array as one of the library's."""

    @abc.abstractmethod
    def dtype(self, name: str) -> Any:
        """The dtype of this name, "float32"."""

    def dtype_name(self, value: Any) -> str | None:
        """The name of a dtype, None for anything else."""
        if not isinstance(value, (np.dtype, type)):
            return None
        try:
            return str(np.dtype(value).name)
        except TypeError:
            return None

    def concrete(self, value: Any) -> Array | None:
        """The entries of an array, or of one of NumPy; None for anything else, and without entries yet."""
        kit = framework_named(self.name)
        is_array = isinstance(value, (np.ndarray, np.generic)) or kit.is_array(value)
        try:
            return kit.numpy(value) if is_array else None
        except Exception:  # noqa: BLE001 - it is being traced
            return None

    def watched(self, note: Note, names: frozenset[str]) -> contextlib.AbstractContextManager[None]:
        """As long as it is open, `note` is told of every call of the functions with these public names."""
        return patched(note, names)

    def begin(self) -> None:  # noqa: B027 - most libraries are ready
        """Called once in a process that calls functions, before the first call."""

    @abc.abstractmethod
    def view(self, x: Any, layout: Layout) -> Any:
        """The view of an array that `layout` says."""

    @abc.abstractmethod
    def leaves(self, result: Any) -> list[Any]:
        """The arrays of floats, real or complex, in what a function returns."""

    def fresh(self, x: Any) -> Any:
        """An argument that a function may write into; it is differentiated as `x`."""
        return x

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        """Which of the arrays that `f` returns the library differentiates; None where it differentiates all,
        or does not say.
        """
        return None

    @abc.abstractmethod
    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        """Raises what the library raises where `f` does not take these arrays; cheap."""

    def estimate(self, f: Callable[..., Any], values: Sequence[Array]) -> list[Array] | None:
        """What NumPy computes for what `f` returns; None where it is not known, or is no cheaper than `f`."""
        return None

    @abc.abstractmethod
    def sin(self, x: Any) -> Any: ...

    @abc.abstractmethod
    def total(self, x: Any) -> Any:
        """The sum of the entries of a real array, or of the real part of a complex one."""

    @abc.abstractmethod
    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """The library's own map of `f` over the leading axis of every argument; `UnsupportedError` where it
        has none.
        """

    @abc.abstractmethod
    def doubled(self, x: Any) -> Any:
        """x and 1.25 x along a new leading axis."""

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """`f`, compiled; `UnsupportedError` where the library compiles nothing."""
        raise UnsupportedError(f"{self.name} does not compile functions")

    def seed(self) -> None:  # noqa: B027 - most libraries have no random numbers of their own
        """The library's random numbers begin anew."""

    def random_state(self) -> object:
        """The state of the library's random numbers, which can be compared; None where it does not say."""
        return None

    refusals: tuple[str, ...] = ()
    """What a message contains by which the library says that there is no such derivative, or that it does not
    do this: no crash, but its own word.
    """

    def refuses(self, message: str, error: Exception | None) -> bool:
        """Whether the library says so in this message; `error` is the exception, where it is at hand."""
        return any(words in message for words in self.refusals)

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the library's own rules that differentiate `f` at these arrays, sorted; none where it
        does not say.
        """
        return ()

    # Writing

    header: str
    """The import statements of a script."""
    helpers_code: str
    """Lines of a script that define `leaves(result)`, the arrays of floats in a result; `total(y)`, the sum
    of the entries, of their real parts; `real_parts(ys)`, the real arrays, real and imaginary part of each
    complex one; and `doubled(x)`.
    """
    slope_code: str
    """Lines of a script that define `slope_rev(g, xs, v)` and `slope_fwd(g, xs, v)`: the derivative of the
    real scalar function `g` of the arrays `xs` along `v`, by the library; each can stand inside the other.
    """
    product_code = "w * y"
    """The product of a weight in float64 and a real result."""
    sin_code: str
    map_code: str
    compile_code: str
    seed_code: str

    def slope_code_in(self, modes: Sequence[Mode]) -> str:
        """`slope_code` for these modes alone, where a simpler one does."""
        return self.slope_code

    @abc.abstractmethod
    def array_code(self, value: Array) -> str:
        """The expression of an array."""

    @abc.abstractmethod
    def dtype_code(self, name: str) -> str: ...

    @abc.abstractmethod
    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        """The expression of the view of an array, which is the expression `x`."""

    @abc.abstractmethod
    def complex_code(self, re: str, im: str) -> str:
        """The expression of the complex array with these parts."""

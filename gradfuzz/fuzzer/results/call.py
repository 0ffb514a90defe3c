"""A call of a library's function, as data: drawn, shrunk, printed and repeated without the library.

Call        a function by its public name, its arguments, and what stands around it
Argument    one argument: an array, a list of arguments, a literal of Python, or a dtype
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from gradfuzz.fuzzer.results.codec import OPTIONAL
from gradfuzz.libraries.layouts import Layout
from gradfuzz.oracles.base import Array

Form = Literal["alone", "between", "loop", "twice", "vectorized", "compiled"]
"""What stands around a call.

alone        nothing
between      smooth functions: it is called with x * (1 + sin(x)/16), and y becomes y * (1 + sin(y)/4)
loop         two turns of a loop whose carry scales the arguments and takes up the result
twice        the result of a first call scales the arguments of a second one
vectorized   the library's own map over a new leading axis, of length 2, of every differentiated argument
compiled     nothing, and the library compiles it
"""

FORMS: tuple[Form, ...] = ("alone", "between", "loop", "twice", "vectorized", "compiled")


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """An argument. Of `array`, `items` and `literal` one is given."""

    keyword: str = ""
    """Its keyword; empty for a positional one."""
    array: Array | None = None
    """The entries, exact in their dtype, of which the argument is the view that `layout` says."""
    layout: Layout = "contiguous"
    items: tuple[Argument, ...] | None = None
    """The items of a list, or the parts of what `made` says."""
    literal: str | None = None
    """A literal of Python as "2.0", "(0, 1)" or "'mean'"; of a dtype its name after "dtype:"; of a record the
    expression that makes it after "record:"; see `fuzzer.calling.objects` for other objects.
    """
    constant: bool = field(default=False, metadata={OPTIONAL: True})
    """Whether an array of floats is not differentiated by."""
    made: str | None = field(default=None, metadata={OPTIONAL: True})
    """What the items become: "tuple"; a class by its name, of which they are the fields; "package.Class()",
    an object that is made of them. `fuzzer.calling.objects` has the list. None: a list.
    """

    @property
    def is_called(self) -> bool:
        """Whether it is an object that a class makes of the items."""
        return self.made is not None and self.made.endswith("()")

    @property
    def is_differentiated(self) -> bool:
        """Whether it is an array of floats, real or complex, that is no constant."""
        return self.array is not None and self.array.dtype.kind in "fcV" and not self.constant

    @property
    def is_complex(self) -> bool:
        """Whether it is an array of complex numbers."""
        return self.array is not None and self.array.dtype.kind == "c"


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function of a library with all its arguments."""

    library: str
    """"torch", "jax", "autograd"."""
    function: str
    """Its public name, as a program writes it: "torch.nn.functional.softplus"."""
    arguments: tuple[Argument, ...]
    form: Form = "alone"
    seeded: bool = field(default=False, metadata={OPTIONAL: True})
    """Whether the library's random numbers begin with the same seed at every call."""
    results: tuple[int, ...] = field(default=(), metadata={OPTIONAL: True})
    """Which of the arrays of floats that it returns count: those that the library differentiates; none where
    all do.
    """
    is_recorded: bool = field(default=False, metadata={OPTIONAL: True})
    """Whether a program of the package made it, or one like it: its structures are kept."""
    way: str = field(default="", metadata={OPTIONAL: True})
    """The library's way by which the derivative is asked, "torch.func.jacrev"; empty for the usual one."""

    def arrays(self) -> Iterator[Argument]:
        """The arguments that are arrays, and those in lists, in order."""
        for argument in self.arguments:
            yield from _arrays(argument)

    def parts(self) -> Iterator[Argument]:
        """The arguments, the items of lists, and the parts of objects."""
        waiting = list(self.arguments)
        while waiting:
            yield (one := waiting.pop(0))
            waiting = [*(one.items or ()), *waiting]

    def changed(self, change: Callable[[Argument], Argument]) -> Call:
        """The call with `change` of every argument, and of every item of a list in place of the list."""
        return replace(self, arguments=tuple(_changed(a, change) for a in self.arguments))

    def with_argument(self, old: Argument, new: Argument) -> Call:
        """The call with `new` in place of `old`, one of its arguments or of the items of its lists."""
        return self.changed(lambda argument: new if argument is old else argument)

    def differentiated(self) -> Iterator[Argument]:
        """Those that the call is differentiated by."""
        return (one for one in self.arrays() if one.is_differentiated)


def _changed(argument: Argument, change: Callable[[Argument], Argument]) -> Argument:
    if argument.items is None:
        return change(argument)
    return replace(argument, items=tuple(_changed(item, change) for item in argument.items))


def _arrays(argument: Argument) -> Iterator[Argument]:
    if argument.array is not None:
        yield argument
    for item in argument.items or ():
        yield from _arrays(item)

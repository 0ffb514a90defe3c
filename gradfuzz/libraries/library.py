"""A library of arrays that is called in Python: how its functions are asked for derivatives, called, and
written down.

All methods that compute take and return the library's own arrays, except `derivative`, which takes NumPy
arrays as weights and directions. What a script shows is what runs: an expression of a script is evaluated
here, and a function of a script is a function of the library's module.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from gradfuzz.errors import UntraceableError, UsageError
from gradfuzz.libraries.layouts import Layout
from gradfuzz.libraries.objects import GENERATORS, Generator, Opened
from gradfuzz.libraries.watching import Note, patched
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.oracles.emit.plain_source import called, plain_source, plain_source_in
from gradfuzz.oracles.lacks import Lack
from gradfuzz.oracles.said import spoken, telling
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.tracing.common.leaves import leaves_of, with_leaves
from gradfuzz.tracing.common.units import Unit

LibraryName = Literal["torch", "jax", "autograd", "tensorflow", "mlx", "paddle", "numpy"]
"""A row for each module of this package."""

CALLED: tuple[LibraryName, ...] = tuple(name for name in get_args(LibraryName) if name != "numpy")
"""The libraries whose functions can be called: NumPy has no derivatives."""

ArrayFunction = Callable[..., tuple[Any, ...]]
"""A function of the library's real arrays that returns a tuple of them."""

Differentiated = tuple[Sequence[Any], Sequence[Any]]
"""The outputs of a function, and the derivative by each of its arrays."""

Scalar = Callable[..., Any]
"""A function of arrays with a scalar array as its result."""

Tree = tuple[list[tuple[str, Any]], Callable[[Sequence[Any]], Any]]
"""The leaves of an argument with their paths, and a function that rebuilds an argument from leaves."""


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Which derivative of a function is asked: what `oracles.base` says of a question's."""

    weights: Sequence[Array | None]
    directions: Sequence[Array] = ()
    modes: Sequence[Mode] = ("rev",)


class NoModeError(NotImplementedError):
    """gradfuzz itself asks for no derivative of this kind."""


@dataclass(frozen=True, slots=True)
class Forms:
    """The library in its own language: what a script shows, and what runs.

    Expressions have their operands in braces. {shape} is the shape of the view, {axes} are the axes with the
    last two exchanged.
    """

    header: str
    """The import statements of a script; what is set follows after an empty line."""
    sin: str
    array: str
    """Of the entries {entries}, as nested lists, and the dtype {dtype}."""
    zeros: str
    """Of {shape} and {dtype}; nested lists without entries do not tell the shape."""
    dtype: str
    """Of {name}."""
    pair: str
    """The complex array with the parts {re} and {im}."""
    transposed: str
    expanded: str
    parts: str = ""
    """Where `real` and `imag` are."""
    stepped: str = "{x}[..., ::2]"
    of_form: Mapping[str, str] = field(default_factory=dict)
    """What makes {x} of each of `layouts.FORMS`; none where it has no such forms."""
    mapped: str = ""
    """The library's own map of {f} over the leading axis of every argument; "" where it has none."""
    compiled: str = ""
    """{f}, compiled; "" where the library compiles nothing."""
    seed: str = ""
    """The statement after which the library's random numbers begin anew."""
    product: str = "w * y"
    """The product of a weight w in float64 and a real result y."""
    cast: str = "w.astype(x.dtype)"
    """A direction w in the dtype of the array x."""


class Library(abc.ABC):
    name: LibraryName
    version: str
    lacks: tuple[Lack, ...] = ()
    """The derivatives that the library lacks."""
    ways: tuple[AskedWay, ...] = ()
    """The ways to ask it for derivatives by its own functions."""
    helpers: tuple[str, ...] = ()
    """The functions of the library's module that these call."""
    twice = ""
    """The way that asks for a gradient twice over one graph, as `derivative_twice`; "" without one."""
    draws_to = 0.0
    """How exact it is about draws that it differentiates, as a share: `by_quantiles`."""
    roundoff = 0.0
    """What the values of some of its functions are known to be off, relative to their size, in float64."""
    forms: Forms
    classes: tuple[type, ...] = ()
    """Those of its arrays."""
    entries = 64
    """The most entries of the differentiated arrays of a call: forward mode asks for them one by one."""
    immutable = False
    """Whether nobody can write into its arrays."""
    generators: tuple[Generator, ...] = GENERATORS
    """Of the random numbers that a function may draw without being given them."""
    pushes = False
    """Whether forward mode goes through the entries, and a trace of one `push` says what all of them run."""
    careful = False
    """Whether `check` looks first, if the library can, at what may end the process: after it ended once."""

    # Arrays

    def context(self, precision: Precision) -> contextlib.AbstractContextManager[Any]:
        """A context for all computations in `precision`."""
        return contextlib.nullcontext()

    def tree(self, value: Any, path: str) -> Tree:
        """The leaves of an argument or a result."""
        form = with_leaves(value, itertools.repeat(True))  # without arrays, which a compiler would follow
        return list(leaves_of(value, path)), lambda leaves: with_leaves(form, iter(leaves))

    def operand(self, value: Array, like: Any = None) -> Any:
        """A NumPy array as prepared and repeated functions take it."""
        return self.given(value, like)

    def is_array(self, value: Any) -> bool:
        """Whether it is an array of this library, traced or not."""
        return isinstance(value, self.classes)

    @abc.abstractmethod
    def array(self, value: Array, like: Any = None) -> Any:
        """A NumPy array as one of the library's, on the device of `like`."""

    def given(self, value: Array, like: Any = None) -> Any:
        """The same outside of a function that is traced."""
        return self.array(value, like)

    def constant(self, value: Array) -> Any:
        """The same as an argument of a call, also inside of a function that is traced."""
        return self.array(value)

    def like(self, value: Array, other: Any) -> Any:
        """A NumPy array as one of the library's, in the dtype of `other`."""
        return self.array(np.asarray(value, getattr(other, "dtype", None)), other)

    def numpy(self, value: Any) -> Array:
        """An array of the library, or a number, as a NumPy array."""
        return np.asarray(value)

    def concrete(self, value: Any) -> Array | None:
        """The entries of an array, or of one of NumPy; None for anything else, and without entries yet."""
        is_array = isinstance(value, (np.ndarray, np.generic)) or self.is_array(value)
        try:
            return self.numpy(value) if is_array else None
        except Exception:  # noqa: BLE001 - it is being traced
            return None

    def described(self, value: Any) -> tuple[str, list[Any]] | None:
        """An object of the library's own that has no fields in Python: a kind, and its parts as data."""
        return None

    def rebuilt(self, kind: str, parts: Sequence[Any]) -> Any:
        """The object that `described` took to pieces."""
        raise UsageError(f"{self.name} has no objects of the kind {kind!r}")

    def pair(self, re: Any, im: Any) -> Any:
        """The complex array with these real and imaginary parts."""
        return self._evaluated(f"lambda re, im: {self.forms.pair.format(re='re', im='im')}")(re, im)

    def parts(self, z: Any) -> tuple[Any, Any]:
        """The real and the imaginary part of `z`."""
        home = self._evaluated(self.forms.parts)
        return home.real(z), home.imag(z)

    def cast(self, x: Any, like: Any) -> Any:
        """An array in the dtype of another one; a step of a function that is differentiated."""
        return self._evaluated(f"lambda w, x: {self.forms.cast}")(x, like)

    @abc.abstractmethod
    def is_complex(self, value: Any) -> bool: ...

    def dtype(self, name: str) -> Any:
        """The dtype of this name, "float32"."""
        return self._evaluated(self.dtype_code(name))

    def dtype_name(self, value: Any) -> str | None:
        """The name of a dtype, None for anything else."""
        if not isinstance(value, (np.dtype, type)):
            return None
        try:
            return str(np.dtype(value).name)
        except TypeError:
            return None

    # Derivatives

    def tidy(self) -> None:
        """Called after a check: gives back what the library keeps of functions that will not come again."""
        return

    def prepared(self, call: ArrayFunction) -> ArrayFunction:
        """`call` as it is evaluated at `operand`s."""
        return call

    def repeated(self, call: ArrayFunction) -> ArrayFunction:
        """`call`, which may be a prepared one, as it is evaluated at hundreds of `operand`s."""
        return call

    def compiles_anew(self, call: ArrayFunction) -> bool:
        """Whether each derivative of a prepared function is compiled, also at other inputs of its shapes."""
        return False

    def at_once(self, call: ArrayFunction) -> ArrayFunction:
        """`call` prepared for one evaluation whose last digits do not matter."""
        return call

    def without_derivative(
        self, leaves: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> frozenset[int]:
        """The numbers of those of `leaves(*arrays)`, the leaves of a result, that the library's own functions
        made and that have no derivative by the library's own word; none where no other float would be left.
        """
        return frozenset()

    def derivative(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        """The outputs of `f(*xs)`, and the derivative by each of `xs` that is wanted.

        Raises whatever the library raises.
        """
        raise NoModeError(f"{self.name} has no derivatives")

    def push(
        self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted, probe: Sequence[Array]
    ) -> tuple[Sequence[Any], Any] | None:
        """The outputs of `f(*xs)`, and the wanted derivative, whose last mode is "fwd", along `probe`; None
        where the library has no way of its own for it.
        """
        return None

    def way(self, name: str) -> AskedWay:
        """The way of this name; `UsageError` where there is none."""
        for way in self.ways:
            if way.name == name:
                return way
        known = ", ".join(repr(way.name) for way in self.ways)
        has = f"it has 'all', {known}" if known else "it is asked in one way only"
        raise UsageError(f"ways={name!r} is not a way to ask {self.name} for a derivative; {has}")

    def derivative_twice(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        """The outputs and two gradients over one graph, one after the other: in reverse mode, of a library
        that is asked `twice`.
        """
        raise NotImplementedError

    def derivative_by(
        self, way: AskedWay, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted
    ) -> Differentiated:
        """`derivative`, whose last differentiations are asked in this way."""
        if not all(np.size(self.numpy(x)) for x in xs):
            raise NoModeError(f"{way.name} is not asked about an argument without entries")
        kept = [k for k, w in enumerate(wanted.weights) if w is not None]
        ws = tuple(self.like(w, xs[0]) for w in wanted.weights if w is not None)
        vs = tuple(self.factor(v, x) for v, x in zip(wanted.directions, xs, strict=False))
        outputs = self.prepared(f)(*xs)  # a function may itself differentiate

        def floats(*xs: Any) -> tuple[Any, ...]:
            ys = f(*xs)
            return tuple(ys[k] for k in kept)

        call: ArrayFunction = floats
        if len(wanted.modes) > len(way.modes):
            modes = wanted.modes[: 1 - len(way.modes) or None]
            slope = self.nested(f, xs, replace(wanted, modes=modes), way.inner)
            call, ws = (lambda *xs: (slope(*xs),)), (self.like(np.ones(()), xs[0]),)
        return outputs, self._by_way(way)(call, tuple(xs), ws, vs)

    def way_source(self, way: AskedWay, *known: str) -> str:
        """Lines of a script that define `by_way(f, xs, ws, vs)`, the gradient in this way, and the functions
        that it calls, without those that are `known` there.
        """
        names = (name for name in self.helpers if name not in known)
        helpers = called(way.source, plain_source_in(type(self).__module__, *names))
        return "\n\n".join([*helpers, way.source])

    def nested(
        self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted, gradient: str = "gradient"
    ) -> Scalar:
        """The wanted derivative without its last mode, as a function of arrays like `xs`: `gradient` and
        `slope` of the library's module, one in the other.
        """
        like, directions = xs[0], [self.factor(v, x) for v, x in zip(wanted.directions, xs, strict=False)]
        factors = [None if w is None else self.factor(w, like) for w in wanted.weights]

        def objective(*xs: Any) -> Any:
            pairs = [(w, y) for w, y in zip(factors, f(*xs), strict=True) if w is not None]
            return self.inner([w for w, _ in pairs], [y for _, y in pairs], like)

        def along(g: Scalar, mode: Mode) -> Scalar:
            if mode == "fwd":
                return lambda *xs: self.function("slope")(g, xs, directions)
            return lambda *xs: self.inner(directions, self.function(gradient)(g, xs), xs[0])

        return functools.reduce(along, wanted.modes[:-1], objective)

    def factor(self, value: Array, like: Any) -> Any:
        """A weight or a direction, as results and slopes are multiplied by it."""
        return self.like(value, like)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        """The sum of all products of entries, in the dtype of `like`; a zero for no arrays."""
        raise NotImplementedError

    def refusal(self, error: Exception, modes: Sequence[Mode], way: str = "") -> str | None:
        """Why the function lacks a derivative in these modes, asked in this way, if the error says so; None
        for a failure.
        """
        rows = (row for row in self.lacks if row.ways in way)
        said = isinstance(error, NoModeError) or any(row.speaks(error, modes) for row in rows)
        return first_line(error) if said else None

    def constants(self, f: Callable[..., Any]) -> tuple[int, ...]:
        """The numbers of the arguments of `f` that it takes unchanged, by its own declaration."""
        return ()

    def opened(self, f: Callable[..., Any], args: Mapping[str, Any]) -> Opened | None:
        """`f` as a function of the numbers that it, or a module among its named `args`, holds; None where
        they hold none.
        """
        return None

    def fixed(self, x: Any) -> Any:
        """A number that an object holds and is not differentiated by, as the object has it."""
        return x

    def computes_in(self, call: ArrayFunction, arrays: Sequence[Any]) -> frozenset[str]:
        """The names of the float dtypes that `call` makes of the numbers in `arrays`; none where the library
        does not say.
        """
        return frozenset()

    def draws(self, call: ArrayFunction, arrays: Sequence[Any]) -> bool:
        """Whether `call` makes random numbers of keys, by the library's word."""
        return False

    def is_passed_on(self, value: Any) -> bool:
        """Whether an array stands for something else than its numbers, as a key does."""
        return False

    # Tracing

    @abc.abstractmethod
    def traced(
        self, call: ArrayFunction, arrays: Sequence[Array], rounded: Precision | None = None
    ) -> Program:
        """The function as a program; `UntraceableError` if there is none. A function that is known to be
        `rounded` may convert numbers to other float dtypes, and the program does not.
        """

    def held(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        """The outputs of a function at `xs`, with the values that it hides from differentiation as they are
        at `holding`. `UntraceableError` where they cannot be held.
        """
        raise UntraceableError(f"gradfuzz cannot hold a value constant that a function of {self.name} stops")

    def by_quantiles(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        """The outputs of a function at `xs`, where its draws from distributions that move are the quantiles
        that they are at `holding`. `UntraceableError` where it makes no such draws.
        """
        raise UntraceableError(f"gradfuzz knows no draws of {self.name} that are differentiated")

    def by_documents(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        """The outputs of a function at `xs`, where what the library's documents leave out of a gradient is as
        it is at `holding`. `UntraceableError` where they leave out nothing.
        """
        raise UntraceableError(f"gradfuzz knows nothing that {self.name} leaves out of a gradient")

    def finds_roots(self, call: ArrayFunction, arrays: Sequence[Any]) -> bool:
        """Whether a function finds roots whose derivative it says by itself, and each is one to almost all of
        its digits.
        """
        return False

    def graph(self, call: Callable[..., Any], arrays: Sequence[Array], *, derivative: bool = False) -> Graph:
        """A function of the library's arrays as a graph; `derivative` says that it is one, in which a value
        may be hidden from differentiation. `UntraceableError` if there is none.
        """
        raise UntraceableError(f"the derivatives of {self.name} are not traced; those of JAX and Torch are")

    def units(self, call: Callable[..., Any], arrays: Sequence[Array], mode: Mode) -> Iterable[Unit]:
        """The steps of a function at `arrays` that have a rule each, for `mode`; none where they are not
        known.
        """
        return ()

    # Calls of the library's own functions

    def begin(self) -> None:  # noqa: B027 - most libraries are ready
        """Called once in a process that calls functions, before the first call."""

    def watched(self, note: Note, names: frozenset[str]) -> contextlib.AbstractContextManager[None]:
        """As long as it is open, `note` is told of every call of the functions with these public names."""
        return patched(note, names)

    def fresh(self, x: Any) -> Any:
        """An argument that a function may write into; it is differentiated as `x`."""
        return x

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        """Which of the arrays that `f` returns the library differentiates; None where it differentiates all,
        or does not say.
        """
        return None

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        """Raises what the library raises where `f` does not take these arrays; cheap."""
        f(*arrays)

    def estimate(self, f: Callable[..., Any], values: Sequence[Array]) -> list[Array] | None:
        """What NumPy computes for what `f` returns; None where it is not known, or is no cheaper than `f`."""
        return None

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

    # What runs and is shown

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the library's module that scripts have, too.

        leaves(result)            the arrays of floats, real or complex, in what a function returns
        total(y)                  the sum of the entries, of their real parts
        real_parts(ys)            the real arrays, real and imaginary part of each complex one
        doubled(x)                x and 1.25 x along a new leading axis
        gradient(g, xs)           of a scalar function in reverse mode
        slope(g, xs, directions)  its derivative in forward mode
        """
        found: Callable[..., Any] = self._names[name]
        return found

    @property
    def leaves(self) -> Callable[[Any], list[Any]]:
        """The arrays of floats, real or complex, in what a function returns."""
        return self.function("leaves")

    def source(self, *names: str) -> str:
        """Such functions as text."""
        return "\n\n".join(plain_source(self.function(name)).rstrip("\n") for name in names)

    def slope_source(self, modes: Sequence[Mode]) -> str:
        """Lines of a script that define `slope_rev(g, xs, v)` and `slope_fwd(g, xs, v)`.

        They are the derivative of the real scalar function `g` of the arrays `xs` along `v`, by the library;
        each can stand inside the other.
        """
        reverse = f"sum(total({self.forms.product}) for w, y in zip(v, gradient(g, xs)))"
        forward = f"slope(g, xs, [{self.forms.cast} for w, x in zip(v, xs)])"
        return (
            f"{self.source('gradient', 'slope')}\n\n\ndef slope_rev(g, xs, v):\n    return {reverse}\n\n\n"
            f"def slope_fwd(g, xs, v):\n    return {forward}"
        )

    def seed(self) -> None:
        """The library's random numbers begin anew."""
        exec(self.forms.seed, self._names)  # noqa: S102 - a statement of our own

    def view(self, x: Any, layout: Layout) -> Any:
        """The view of an array that `layout` says."""
        found = self._evaluated(f"lambda x, shape, axes: {self.view_code('x', layout, None)}")
        return found(x, (2, *x.shape[1:]), _exchanged(x.ndim))

    def view_code(self, x: str, layout: Layout, shape: tuple[int, ...] | None) -> str:
        """The expression of the view of an array of this shape, which is the expression `x`."""
        text = (
            "{x}" if layout == "contiguous" else self.forms.of_form.get(layout) or getattr(self.forms, layout)
        )
        if shape is None:
            return text.format(x=x, shape="shape", axes="axes")
        return text.format(x=x, shape=(2, *shape[1:]), axes=_exchanged(len(shape)))

    def array_code(self, value: Array) -> str:
        """The expression of an array."""
        array = np.asarray(value)
        dtype = self.dtype_code(array.dtype.name)
        if not array.size:
            return self.forms.zeros.format(shape=array.shape, dtype=dtype)
        return self.forms.array.format(entries=_entries(array), dtype=dtype)

    def dtype_code(self, name: str) -> str:
        return self.forms.dtype.format(name=name)

    def around(self, lines: Sequence[str], call: Callable[..., Any]) -> Callable[..., Any]:
        """The function `f` that these lines of a script define around the function `call`."""
        names = {**self._names, "call": call}
        exec("\n".join(lines), names)  # noqa: S102 - lines of our own
        found: Callable[..., Any] = names["f"]
        return found

    @functools.cache  # noqa: B019 - there is one library of a name
    def _by_way(self, way: AskedWay) -> Callable[..., Sequence[Any]]:
        names = dict(self._names)
        exec(way.source, names)  # noqa: S102 - lines of our own
        found: Callable[..., Sequence[Any]] = names["by_way"]
        return found

    @functools.cache  # noqa: B019 - there is one library of a name
    def _evaluated(self, text: str) -> Any:
        return eval(text, self._names)  # noqa: S307 - a text of our own

    @property
    def _names(self) -> dict[str, Any]:
        return vars(sys.modules[type(self).__module__])


def _exchanged(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def first_line(error: BaseException) -> str:
    """The line of an error's message that says what happened, which is mostly the first."""
    return telling(str(spoken(error)))


def _entries(value: Array) -> str:
    """The entries as nested lists of Python: they give the same bits again."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":  # bfloat16 and the like, as numbers
        array = array.astype(np.float64)
    return _written(array.tolist())


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex) and not _is_plain(value):
        return f"complex({_written(value.real)}, {_written(value.imag)})"
    return repr(value)


def _is_plain(value: complex) -> bool:
    """Whether its sum of two parts, as Python writes it, is itself: not so with -0.0, which the sum loses."""
    return all(
        np.isfinite(part) and (part or np.copysign(1.0, part) > 0) for part in (value.real, value.imag)
    )

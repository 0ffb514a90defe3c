"""A call as a function of its differentiated arrays, with what stands around it."""

from __future__ import annotations

import ast
import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import NotDifferentiableError, UnsupportedError
from gradfuzz.fuzzer.results.call import Argument, Call, Form
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library
from gradfuzz.libraries.watching import found_at, function_of
from gradfuzz.oracles.base import Array

Function = Callable[..., tuple[Any, ...]]
"""Of the library's arrays, one for each differentiated argument; returns the arrays of floats."""


def called(call: Call, library: Library) -> Function:
    """The function of the differentiated arrays of a call, alone: what stands around it is left away.

    It raises what the library raises, and `NotDifferentiableError` where that returns no array of floats.
    """

    def function(*xs: Any) -> tuple[Any, ...]:
        found = tuple(library.leaves(returned(call, library, xs)))
        if not found:
            raise NotDifferentiableError(f"{call.function} returns no array of floats here")
        return tuple(found[k] for k in call.results) if call.results else found

    return function


def returned(call: Call, library: Library, xs: Sequence[Any]) -> Any:
    """What the function itself returns."""
    if call.seeded:
        library.seed()
    given = iter([library.fresh(x) for x in xs])
    return _called(function_of(call.function), call.arguments, library, given)


def asked(call: Call, library: Library) -> Function:
    """The function that is differentiated: the call with what stands around it."""
    alone = called(call, library)
    return alone if call.form == "alone" else library.around(around(call.form, library), alone)


def values_of(call: Call) -> list[Array]:
    """The differentiated arrays."""
    return [np.asarray(one.array) for one in call.differentiated()]


def is_inside(call: Call) -> bool:
    """Whether the values of a call are finite numbers."""
    return math.isfinite(size_of(call))


def size_of(call: Call, *, estimated: bool = False) -> float:
    """The largest absolute value that a call returns; infinite where some is no finite number. Where values
    can be `estimated`, they are so first.
    """
    library = library_named(call.library)
    with quiet(), np.errstate(all="ignore"):
        try:
            function, values = called(call, library), values_of(call)
            known = library.estimate(function, values) if estimated else None
            if known is not None and not math.isfinite(_size(known)):
                return math.inf
            ys = function(*[library.constant(value) for value in values])
            return _size([library.numpy(y) for y in ys])
        except Exception:  # noqa: BLE001 - a function that draws random numbers may raise the second time
            return math.inf


def _size(arrays: Sequence[Array]) -> float:
    sizes = [float(np.max(np.abs(array), initial=0.0)) for array in arrays]
    return max(sizes, default=0.0) if all(map(math.isfinite, sizes)) else math.inf


def _called(function: Any, arguments: Sequence[Argument], library: Library, given: Iterator[Any]) -> Any:
    """What a function or a class makes of arguments."""
    built = [(a.keyword, _built(a, library, given)) for a in arguments]
    positional = [value for keyword, value in built if not keyword]
    return function(*positional, **{keyword: value for keyword, value in built if keyword})


def _built(argument: Argument, library: Library, given: Any) -> Any:
    if argument.made is not None:
        return _called(found_at(argument.made.removesuffix("()")), argument.items or (), library, given)
    if argument.items is not None:
        return [_built(item, library, given) for item in argument.items]
    if argument.literal is not None:
        head, _, name = argument.literal.partition(":")
        if head == "record":
            return _record(ast.parse(name, mode="eval").body)
        return library.dtype(name) if head == "dtype" else ast.literal_eval(argument.literal)
    assert argument.array is not None, "an argument has an array, items or a literal"
    built = next(given) if argument.is_differentiated else library.constant(argument.array)
    return library.view(built, argument.layout)


def _record(node: ast.expr) -> Any:
    """The record that a literal names, with literals as fields."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    return found_at(ast.unparse(node.func))(**{str(k.arg): _record(k.value) for k in node.keywords})


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Warnings of libraries about what is asked of them are no finding. One is raised: that a number should
    have been an integer, and that its digits are cut off.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="floating point number truncated to an integer")
        yield


# Around -----------------------------------------------------------------------------------------------------

_AROUND: dict[Form, tuple[str, ...]] = {
    "alone": ("def f(*xs):", "    return leaves(call(*xs))"),
    "between": (
        "def f(*xs):",
        "    ys = leaves(call(*[x * (1 + SIN(x) / 16) for x in xs]))",
        "    return [y * (1 + SIN(y) / 4) for y in ys]",
    ),
    "loop": (
        "def f(*xs):",
        "    c = 1 + SIN(sum(total(y) for y in leaves(call(*xs)))) / 16",
        "    for _ in range(2):",
        "        ys = leaves(call(*[x * c for x in xs]))",
        "        c = c * (1 + SIN(sum(total(y) for y in ys)) / 16)",
        "    return [*ys, c]",
    ),
    "twice": (
        "def f(*xs):",
        "    c = 1 + SIN(sum(total(y) for y in leaves(call(*xs)))) / 16",
        "    return leaves(call(*[x * c for x in xs]))",
    ),
    "vectorized": (
        "rows = MAP",
        "",
        "",
        "def f(*xs):",
        "    return leaves(rows(*[doubled(x) for x in xs]))",
    ),
    "compiled": ("compiled = COMPILE", "", "", "def f(*xs):", "    return leaves(compiled(*xs))"),
}
"""The lines that define `f`, the function of the arrays that is differentiated, by what stands around."""


def around(form: Form, library: Library) -> list[str]:
    """The lines that define `f` around a function `call`, in the library's own language.

    `UnsupportedError` where the library has no map, or compiles nothing.
    """
    forms = library.forms
    if form == "vectorized" and not forms.mapped:
        raise UnsupportedError(f"{library.name} does not map functions over an axis")
    if form == "compiled" and not forms.compiled:
        raise UnsupportedError(f"{library.name} does not compile functions")
    words = {"SIN": forms.sin, "MAP": forms.mapped, "COMPILE": forms.compiled}
    lines = list(_AROUND[form])
    for word, text in words.items():
        lines = [line.replace(word, text.replace("{f}", "call")) for line in lines]
    return lines

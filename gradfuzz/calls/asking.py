"""A call as a function of its differentiated arrays, with what stands around it."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradfuzz.calls.libraries.library import Library, function_of, library_named
from gradfuzz.calls.libraries.watching import found_at
from gradfuzz.errors import NotDifferentiableError
from gradfuzz.fuzzer.results.call import Argument, Call, Form
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
    built = [(a.keyword, _built(a, library, given)) for a in call.arguments]
    positional = [value for keyword, value in built if not keyword]
    keywords = {keyword: value for keyword, value in built if keyword}
    return function_of(call.function)(*positional, **keywords)


def asked(call: Call, library: Library) -> Function:
    """The function that is differentiated: the call with what stands around it."""
    return _AROUND[call.form](called(call, library), library)


def values_of(call: Call) -> list[Array]:
    """The differentiated arrays."""
    return [np.asarray(one.array) for one in call.differentiated()]


def is_inside(call: Call, *, estimated: bool = False) -> bool:
    """Whether the values of a call are finite numbers. Where they are `estimated`, they are so first."""
    library = library_named(call.library)
    with quiet(), np.errstate(all="ignore"):
        try:
            function, values = called(call, library), values_of(call)
            known = library.estimate(function, values) if estimated else None
            if known is not None and not _are_finite(known):
                return False
            ys = function(*[library.array(value) for value in values])
            return _are_finite([library.numpy(y) for y in ys])
        except Exception:  # noqa: BLE001 - a function that draws random numbers may raise the second time
            return False


def _are_finite(arrays: Sequence[Array]) -> bool:
    return all(bool(np.all(np.isfinite(array))) for array in arrays)


def _built(argument: Argument, library: Library, given: Any) -> Any:
    if argument.items is not None:
        return [_built(item, library, given) for item in argument.items]
    if argument.literal is not None:
        head, _, name = argument.literal.partition(":")
        if head == "record":
            return _record(ast.parse(name, mode="eval").body)
        return library.dtype(name) if head == "dtype" else ast.literal_eval(argument.literal)
    assert argument.array is not None, "an argument has an array, items or a literal"
    built = next(given) if argument.is_differentiated else library.array(argument.array)
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


def _alone(f: Function, library: Library) -> Function:
    return f


def _between(f: Function, library: Library) -> Function:
    def around(*xs: Any) -> tuple[Any, ...]:
        ys = f(*[x * (1 + library.sin(x) / 16) for x in xs])
        return tuple(y * (1 + library.sin(y) / 4) for y in ys)

    return around


def _loop(f: Function, library: Library) -> Function:
    def around(*xs: Any) -> tuple[Any, ...]:
        carry = 1 + library.sin(_sum(f(*xs), library)) / 16
        for _ in range(2):
            ys = f(*[x * carry for x in xs])
            carry = carry * (1 + library.sin(_sum(ys, library)) / 16)
        return (*ys, carry)

    return around


def _twice(f: Function, library: Library) -> Function:
    def around(*xs: Any) -> tuple[Any, ...]:
        factor = 1 + library.sin(_sum(f(*xs), library)) / 16
        return f(*[x * factor for x in xs])

    return around


def _vectorized(f: Function, library: Library) -> Function:
    def around(*xs: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = library.vectorized(f)(*[library.doubled(x) for x in xs])
        return found

    return around


def _compiled(f: Function, library: Library) -> Function:
    return library.compiled(f)


def _sum(ys: Sequence[Any], library: Library) -> Any:
    first, *rest = [library.total(y) for y in ys]
    for more in rest:
        first = first + more
    return first


_AROUND: dict[Form, Callable[[Function, Library], Function]] = {
    "alone": _alone,
    "between": _between,
    "loop": _loop,
    "twice": _twice,
    "vectorized": _vectorized,
    "compiled": _compiled,
}

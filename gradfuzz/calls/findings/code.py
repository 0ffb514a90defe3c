"""A call as code in the library's own language."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradfuzz.calls.libraries.library import Library, library_named
from gradfuzz.fuzzer.results.call import Argument, Call, Form

_AROUND: dict[Form, tuple[str, ...]] = {
    "alone": ("return leaves(call(*xs))",),
    "between": (
        "ys = leaves(call(*[x * (1 + SIN(x) / 16) for x in xs]))",
        "return [y * (1 + SIN(y) / 4) for y in ys]",
    ),
    "loop": (
        "c = 1 + SIN(sum(total(y) for y in leaves(call(*xs)))) / 16",
        "for _ in range(2):",
        "    ys = leaves(call(*[x * c for x in xs]))",
        "    c = c * (1 + SIN(sum(total(y) for y in ys)) / 16)",
        "return [*ys, c]",
    ),
    "twice": (
        "c = 1 + SIN(sum(total(y) for y in leaves(call(*xs)))) / 16",
        "return leaves(call(*[x * c for x in xs]))",
    ),
    "vectorized": ("return leaves(MAP(call)(*[doubled(x) for x in xs]))",),
    "compiled": ("return leaves(COMPILE(call)(*xs))",),
}
"""The body of the function of the arrays `xs` that is differentiated, by what stands around the call."""


def names(call: Call) -> list[str]:
    """The names of the differentiated arrays in the code of a call: "x0", "x1", ..."""
    return [f"x{k}" for k, _ in enumerate(call.differentiated())]


def code(call: Call) -> str:
    """The lines that a user would write. Where something stands around the call, they define the function
    that is differentiated; `leaves` are the arrays of a result, `total` is the sum of the entries.
    """
    library = library_named(call.library)
    lines = [f"{name} = {text}" for name, text in zip(names(call), arrays(call), strict=True)]
    lines += [library.seed_code] if call.seeded else []
    if call.form == "alone":
        return "\n".join([*lines, f"y = {expression(call)}"])
    return "\n".join([*lines, "", *function(call, "call"), "", *around(call)])


def arrays(call: Call) -> list[str]:
    """The expressions of the differentiated arrays."""
    library = library_named(call.library)
    return [library.array_code(np.asarray(one.array)) for one in call.differentiated()]


def function(call: Call, name: str) -> list[str]:
    """The lines that define the call as a function of its differentiated arrays."""
    seed = [f"    {library_named(call.library).seed_code}"] if call.seeded else []
    result = expression(call)
    if call.results:  # the others are not differentiated
        result = f"[leaves({result})[k] for k in {list(call.results)}]"
    return [f"def {name}({', '.join(names(call))}):", *seed, f"    return {result}"]


def around(call: Call) -> list[str]:
    """The lines that define `f`, the function of the arrays that is differentiated."""
    library = library_named(call.library)
    words = {"SIN": library.sin_code, "MAP": library.map_code, "COMPILE": library.compile_code}
    body = list(_AROUND[call.form])
    for word, text in words.items():
        body = [line.replace(word, text) for line in body]
    return ["def f(*xs):", *(f"    {line}" for line in body)]


def expression(call: Call) -> str:
    """The call itself."""
    library = library_named(call.library)
    given = iter(names(call))
    return f"{call.function}({', '.join(_argument(a, given, library) for a in call.arguments)})"


def _argument(argument: Argument, given: Iterator[str], library: Library) -> str:
    head = f"{argument.keyword}=" if argument.keyword else ""
    return head + _expression(argument, given, library)


def _expression(argument: Argument, given: Iterator[str], library: Library) -> str:
    if argument.items is not None:
        return f"[{', '.join(_expression(item, given, library) for item in argument.items)}]"
    if argument.literal is not None:
        kind, _, name = argument.literal.partition(":")
        if kind == "record":
            return name
        return library.dtype_code(name) if kind == "dtype" else argument.literal
    array = np.asarray(argument.array)
    text = next(given) if argument.is_differentiated else library.array_code(array)
    return library.view_code(text, argument.layout, array.ndim)

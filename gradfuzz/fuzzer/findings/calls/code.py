"""A call as code in the library's own language."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradfuzz.fuzzer.calling.invocation import around
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library


def names(call: Call) -> list[str]:
    """The names of the differentiated arrays in the code of a call: "x0", "x1", ..."""
    return [f"x{k}" for k, _ in enumerate(call.differentiated())]


def code(call: Call) -> str:
    """The lines that a user would write. Where something stands around the call, they define the function
    that is differentiated; `leaves` are the arrays of a result, `total` is the sum of the entries.
    """
    library = library_named(call.library)
    lines = [f"{name} = {text}" for name, text in zip(names(call), arrays(call), strict=True)]
    lines += [library.forms.seed] if call.seeded else []
    lines += [f"# differentiated by {call.way}"] if call.way else []
    if call.form == "alone":
        return "\n".join([*lines, f"y = {expression(call)}"])
    return "\n".join([*lines, "", *function(call, "call"), "", *around(call.form, library)])


def arrays(call: Call) -> list[str]:
    """The expressions of the differentiated arrays."""
    library = library_named(call.library)
    return [library.array_code(np.asarray(one.array)) for one in call.differentiated()]


def function(call: Call, name: str) -> list[str]:
    """The lines that define the call as a function of its differentiated arrays."""
    seed = [f"    {library_named(call.library).forms.seed}"] if call.seeded else []
    result = expression(call)
    if call.results:  # the others are not differentiated
        result = f"[leaves({result})[k] for k in {list(call.results)}]"
    return [f"def {name}({', '.join(names(call))}):", *seed, f"    return {result}"]


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
    return library.view_code(text, argument.layout, array.shape)

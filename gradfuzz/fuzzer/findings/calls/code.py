"""A call as code in the library's own language."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradfuzz.fuzzer.calling.invocation import around
from gradfuzz.fuzzer.calling.objects import made
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library
from gradfuzz.oracles.emit.plain_source import plain_source


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
    if argument.is_called:
        parts = (_argument(item, given, library) for item in argument.items or ())
        return f"{str(argument.made).removesuffix('()')}({', '.join(parts)})"
    if argument.items is not None:
        return _assembled(argument, [_expression(item, given, library) for item in argument.items])
    if argument.literal is not None:
        kind, _, name = argument.literal.partition(":")
        if kind in ("record", "name"):
            return name
        if kind == "number":
            return f'float("{name}")'
        if kind == "pickle":
            return f'pickle.loads(base64.b64decode("{name}"))'
        return library.dtype_code(name) if kind == "dtype" else argument.literal
    array = np.asarray(argument.array)
    text = next(given) if argument.is_differentiated else library.array_code(array)
    return library.view_code(text, argument.layout, array.shape)


def _assembled(argument: Argument, parts: list[str]) -> str:
    """What an argument's parts become."""
    kind, listed = argument.made, ", ".join(parts)
    if kind in _OF_ITEMS:
        return _OF_ITEMS[kind].format(listed)
    if kind == "tuple":
        return f"({listed}{',' * (len(parts) == 1)})"
    if kind == "dict":
        return f"{{{', '.join(map(': '.join, zip(parts[::2], parts[1::2], strict=True)))}}}"
    if kind == "method":
        return f"getattr({listed})"
    if kind == "key":
        return f"jax.random.wrap_key_data({parts[0]}, impl={parts[1]})"
    if kind == "bound":
        return f"{parts[0]}.bind({parts[1]}, rngs={parts[2]}, mutable={parts[3]})"
    if kind == "functools.partial" or str(kind).endswith(".Partial"):
        return f"{kind}({parts[0]}, *{parts[1]}, **{parts[2]})"
    fields = zip(argument.items or (), parts, strict=True)
    return f"made({kind}, {{{', '.join(f'{item.keyword!r}: {part}' for item, part in fields)}}})"


_OF_ITEMS = {
    None: "[{}]",
    "set": "set([{}])",
    "frozenset": "frozenset([{}])",
    "slice": "slice({})",
    "treedef": "jax.tree.structure({})",
}


def makers(call: Call) -> list[str]:
    """The lines that define what the expression of a call uses: `made` sets the fields of objects."""
    return [plain_source(made), "", ""] if "made(" in expression(call) else []

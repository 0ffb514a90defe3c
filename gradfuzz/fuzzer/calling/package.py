"""The functions of a user's own module.

They are its public functions that are made of arrays of JAX, Torch or autograd, by their annotations, or by
the library that their code names. The rows are those of a catalogue; the reason of a row is the library.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import typing
from typing import Any

from gradfuzz.adapters.catalogue import (
    DIFFERENTIABLE,
    LEFT_OUT,
    Function,
    parameters,
    public,
    resolved,
    signature,
)
from gradfuzz.libraries.detect import library_of
from gradfuzz.libraries.library import CALLED
from gradfuzz.oracles.catalogues import made


def functions(module: str) -> list[Function]:
    """The public functions that the module itself defines."""
    owner = importlib.import_module(module)
    package = module.partition(".")[0]
    rows = []
    for thing in public({module: owner}):
        value = _written(thing.value)
        home = str(getattr(value, "__module__", ""))
        if isinstance(value, type) or home.partition(".")[0] != package:
            continue
        shown = signature(thing.names[0], value)
        made_of = _made_of(value)
        if made_of is None:
            why = "neither its annotations nor its code name JAX, Torch or autograd"
            rows.append(Function(thing.names, shown, LEFT_OUT, why))
        else:
            rows.append(Function(thing.names, shown, DIFFERENTIABLE, made_of, parameters(value)))
    return rows


def _written(value: Any) -> Any:
    """The function that a person wrote: without decorators, and of a custom op of Torch its first kernel."""
    return inspect.unwrap(getattr(value, "_init_fn", value))


def _made_of(value: object) -> str | None:
    """The library whose arrays a function takes."""
    found: list[inspect.Parameter] = []
    with contextlib.suppress(TypeError, ValueError):
        found = list(inspect.signature(value).parameters.values())  # type: ignore[arg-type]
    names = getattr(value, "__globals__", {})
    annotations = " ".join(_read(resolved(one.annotation, names)) for one in found)
    for name, words in (("jax", ("jax", "jnp")), ("torch", ("torch", "Tensor"))):
        if any(word in annotations for word in words):
            return name
    library = library_of(value, ()).name
    return library if library in CALLED else None


def _read(annotation: object) -> str:
    """An annotation as text; of one with dimensions the type of the array, which names its library."""
    parts = (annotation, *typing.get_args(annotation))
    arrays = [one.array_type for one in parts if hasattr(one, "array_type")]
    return str(arrays[0] if arrays else annotation)


def listed(module: str) -> list[Function]:
    """The same in a process of its own. `TargetProcessError` where the module takes it down."""
    command = [sys.executable, "-c", _CHILD, repr(sys.path), module]
    return made(f"the list of the functions of {module}", command, str, here=True)


_CHILD = """import ast, sys
sys.path[:] = ast.literal_eval(sys.argv[1])
from gradfuzz.adapters.catalogue import write
from gradfuzz.fuzzer.calling.package import functions
write(sys.argv[3], functions(sys.argv[2]))
"""
"""What the process runs: it finds modules where this one does."""

"""The functions of a user's own module.

They are its public functions that are made of arrays of JAX, Torch or autograd, by their annotations, or by
the library that their code names. The rows are those of a catalogue; the reason of a row is the library.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import subprocess
import sys
import tempfile
import typing
from pathlib import Path
from typing import Any

from gradfuzz.adapters.catalogue import (
    DIFFERENTIABLE,
    LEFT_OUT,
    Function,
    parameters,
    public,
    read,
    resolved,
    signature,
)
from gradfuzz.errors import TargetProcessError
from gradfuzz.libraries.detect import library_of
from gradfuzz.libraries.library import CALLED

_SECONDS = 300.0
"""Until the import of a module is given up."""


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
    with tempfile.TemporaryDirectory(prefix="gradfuzz-package-") as folder:
        place = Path(folder, "functions.json")
        command = [sys.executable, "-c", _CHILD, repr(sys.path), module, str(place)]
        try:
            ended = subprocess.run(  # noqa: S603 - this module, without a shell
                command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            told = f"the import of {module} did not end within {_SECONDS:g} s"
            raise TargetProcessError("timeout", told) from error
        if not place.exists():
            stderr = ended.stderr.decode(errors="replace").strip()
            last = stderr.rpartition("\n")[2] or f"exit code {ended.returncode}"
            told = f"the functions of {module} cannot be listed: {last}"
            raise TargetProcessError("exit", told, stderr)
        return read(place)


_CHILD = """import ast, sys
sys.path[:] = ast.literal_eval(sys.argv[1])
from gradfuzz.adapters.catalogue import write
from gradfuzz.fuzzer.calling.package import functions
write(sys.argv[3], functions(sys.argv[2]))
"""
"""What the process runs: it finds modules where this one does."""

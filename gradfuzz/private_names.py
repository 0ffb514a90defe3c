"""The names of libraries that are private to them, and that gradfuzz uses where no public one does the same.

A release may drop any of them. So `private` asks for each, and says what is given up where it is gone. Only
its absence says so: what the library raises on its way there, or the object when it is used, is not caught.

Of Paddle nothing private is used. The scripts in `adapters` import nothing of gradfuzz and guard their
imports themselves; their names stand here, too. `tests/unit/house/test_private_names.py` compares this table
with the code, and `tests/unit/tracing/test_private_names_gone.py` takes each name away.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import GradfuzzError, UnsupportedError


@dataclass(frozen=True, slots=True)
class PrivateName:
    """What a name is for, and what is given up without it, as ends of a sentence."""

    library: str
    purpose: str
    without: str


_TORCH_TRACING = "no function of Torch is proved, and torch:eager:rule answers nothing"
_IN_PLACE = "no function of Torch that writes in place is proved"
_COMPILED = "the ways torch:compile:... answer nothing"
_STRUCTURED = "torch:while_loop and torch:scan answer nothing"
_TORCH_CATALOGUE = "there is no catalogue of Torch, and no sweep of its functions"
_TENSORFLOW_CATALOGUE = "there is no catalogue of TensorFlow, and no sweep of its functions"

PRIVATE_NAMES: dict[str, PrivateName] = {
    "jax._src.lax.lax._ragged_dot_general_impl": PrivateName(
        "jax", "to write out lax.ragged_dot_general", "no function with it is proved"
    ),
    "jax._src.state.discharge.discharge_state": PrivateName(
        "jax", "to make functions with mutable references pure", "none with an effect or run_state is proved"
    ),
    "jax.interpreters.ad.primitive_jvps": PrivateName(
        "jax",
        "to see whether a primitive has a rule",
        "the catalogue leaves out functions of jax.lax that it cannot follow, and no cause names the place of"
        " a rule",
    ),
    "jax.interpreters.ad.primitive_transposes": PrivateName(
        "jax", "to find the rule of a primitive", "no cause names the place of a rule"
    ),
    "mlx.core.sin.__nb_signature__": PrivateName(
        "mlx",
        "to read what a compiled function takes",
        "there is no catalogue of MLX, and no sweep of its functions",
    ),
    "tensorflow.python.framework.op_def_registry": PrivateName(
        "tensorflow", "to read the definitions of ops", _TENSORFLOW_CATALOGUE
    ),
    "tensorflow.python.framework.ops.gradient_registry": PrivateName(
        "tensorflow",
        "to see whether an op has a gradient",
        f"{_TENSORFLOW_CATALOGUE}; a finding names no rules",
    ),
    "torch._C.DisableTorchFunction": PrivateName(
        "torch", "to hold what a module does not learn", "no module is asked about that has it"
    ),
    "torch._C._set_grad_enabled": PrivateName("torch", "to notice torch.no_grad", _TORCH_TRACING),
    "torch._decomp.decomposition_table": PrivateName(
        "torch",
        "to take ops apart",
        "no function of Torch is proved that writes in place or has an op that gradfuzz has not",
    ),
    "torch._dynamo.config": PrivateName(
        "torch", "to trace without a limit", f"{_COMPILED}, and {_STRUCTURED}"
    ),
    "torch._higher_order_ops.scan.scan": PrivateName("torch", "for loops", "torch:scan answers nothing"),
    "torch._higher_order_ops.while_loop.while_loop": PrivateName(
        "torch", "for loops", "torch:while_loop answers nothing"
    ),
    "torch._subclasses.fake_tensor.DataDependentOutputException": PrivateName(
        "torch", "to notice that a number decides", _IN_PLACE
    ),
    "torch._subclasses.fake_tensor.DynamicOutputShapeException": PrivateName(
        "torch", "to notice that a number decides a shape", _IN_PLACE
    ),
    "torch.ops.aten.sin.default._schema": PrivateName("torch", "to know an op", _TORCH_TRACING),
    "torch.utils._python_dispatch.TorchDispatchMode": PrivateName(
        "torch", "to see what is executed", _TORCH_TRACING
    ),
    "torch.utils._pytree": PrivateName("torch", "to find the tensors in arguments", _TORCH_TRACING),
    "torchgen.model": PrivateName("torch", "to read schemas", _TORCH_CATALOGUE),
    "torchgen.packaged": PrivateName("torch", "to read the tables of operators", _TORCH_CATALOGUE),
}
"""By dotted name. What every op of Torch has is asked of one that every release has."""


class _GoneError(Exception):
    """The library has no such name."""


def private(name: str, error: type[GradfuzzError] = UnsupportedError) -> Any:
    """The object of a row; an `error` in words where this release of the library has it no more."""
    reason = missing(name)
    if reason is not None:
        raise error(reason)
    return _found(name)


def missing(*names: str) -> str | None:
    """Which of these rows is gone and what is given up, in words; None where all are there."""
    for name in names:
        row = PRIVATE_NAMES[name]
        try:
            _found(name)
        except _GoneError:
            version = getattr(importlib.import_module(row.library), "__version__", "")
            return (
                f"{row.library} {version} has no {name}, which is private to it and which gradfuzz needs"
                f" {row.purpose}; without it, {row.without}"
            )
    return None


def _found(name: str) -> Any:
    path, *parts = name.split(".")
    found: Any = importlib.import_module(path)
    for part in parts:
        path += f".{part}"
        found = _within(found, part, path)
    return found


def _within(owner: Any, name: str, path: str) -> Any:
    """A module before a function of the same name: its package may show the function in its place."""
    if sys.modules.get(path.rpartition(".")[0]) is owner:
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
    if not hasattr(owner, name):
        raise _GoneError
    return getattr(owner, name)

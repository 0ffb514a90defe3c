"""The steps of a Torch function: the functions of Torch that it calls, and those with a rule of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.overrides import TorchFunctionMode, resolve_name

from gradfuzz.errors import UntraceableError
from gradfuzz.private_names import private
from gradfuzz.tracing.common.graph import Array
from gradfuzz.tracing.common.units import Unit

pytree = private("torch.utils._pytree", UntraceableError)


def units(f: Callable[..., Any], arrays: Sequence[Array], mode: str) -> Iterator[Unit]:
    """The steps of `f` at `arrays`, in order."""
    tensors = [torch.from_numpy(np.array(a)) for a in arrays]
    notes = _Notes(mode)
    original = inspect.getattr_static(torch.autograd.Function, "apply")  # of Python, or of C since 2.15

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        own = original.__get__(None, cls)
        notes.note(own, args, kwargs, cls.__name__, _custom(cls, mode))
        notes.depth += 1
        try:
            return own(*args, **kwargs)
        finally:
            notes.depth -= 1

    patched = mock.patch.object(torch.autograd.Function, "apply", classmethod(apply))
    with patched, notes, torch.compiler.set_stance("force_eager"):
        f(*[t.requires_grad_() if t.is_floating_point() else t for t in tensors])
    yield from notes.units


class _Notes(TorchFunctionMode):
    """Notes the calls that take and return floats."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.depth = 0
        """How many functions with a rule of their own are being run: what they call does not count."""
        self.units: list[Unit] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        node = next((t.grad_fn for t in pytree.tree_leaves(result) if _has_rule(t)), None)
        if not self.depth and node is not None:
            name = resolve_name(func) or getattr(func, "__name__", str(func))
            self.note(func, args, kwargs, name, f"{node.name()} of torch's table of derivatives")
        return result

    def note(self, func: Any, args: Any, kwargs: Any, name: str, rule: str) -> None:
        leaves, form = pytree.tree_flatten((args, kwargs))
        places = [k for k, leaf in enumerate(leaves) if _is_float(leaf)]
        if self.depth or not places:
            return
        kept = [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]

        def call(*xs: Any) -> Any:
            given = list(kept)
            for k, x in zip(places, xs, strict=True):
                given[k] = x
            own_args, own_kwargs = pytree.tree_unflatten(given, form)
            result = func(*own_args, **own_kwargs)
            return [t for t in pytree.tree_leaves(result) if _is_float(t)]

        arrays = tuple(np.asarray(kept[k].numpy()) for k in places)
        self.units.append(Unit(name, rule, call, arrays))


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def _has_rule(leaf: Any) -> bool:
    return _is_float(leaf) and leaf.grad_fn is not None


def _custom(cls: Any, mode: str) -> str:
    """Where a function's own rule is written."""
    rule = getattr(cls, "jvp" if mode == "fwd" else "backward")
    code = getattr(inspect.unwrap(rule), "__code__", None)
    name = f"{cls.__name__}.{getattr(rule, '__name__', 'backward')}"
    return name if code is None else f"{code.co_filename}:{code.co_firstlineno}, in {name}"

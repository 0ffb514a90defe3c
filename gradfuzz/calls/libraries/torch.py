"""Calls of Torch's functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode, resolve_name

from gradfuzz.calls.libraries.contract import Library
from gradfuzz.calls.libraries.numbers import nested
from gradfuzz.calls.libraries.watching import Note
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName
from gradfuzz.tracing.common.leaves import leaves_of

_REVERSE = """
def slope_rev(g, xs, v):
    xs = [x if x.requires_grad else x.clone().requires_grad_() for x in xs]
    slopes = torch.autograd.grad(g(*xs), xs, create_graph=True, materialize_grads=True)
    return sum((s * w).sum() for s, w in zip(slopes, v))
"""

_VIEWS = (
    *("torch::autograd::AccumulateGrad", "ViewBackward", "UnsafeViewBackward", "TransposeBackward"),
    *("TBackward", "PermuteBackward", "SelectBackward", "SliceBackward", "ExpandBackward"),
    *("UnsqueezeBackward", "SqueezeBackward", "CloneBackward", "ViewAsRealBackward", "ToCopyBackward"),
)
"""How the nodes begin that every call may have."""


class TorchLibrary(Library):
    name: FrameworkName = "torch"
    refusals = (
        *("The derivative of", "derivative for", "not differentiable", "not implemented", "not support"),
        *("doesn't support", "Cannot access data pointer", "vmap:", "data-dependent", "in-place"),
        *("non-zero size", "ill-defined", "does not currently support", "donated buffers"),
    )

    def array(self, value: Array) -> Any:
        return framework_named("torch").array(value)

    def dtype(self, name: str) -> Any:
        return getattr(torch, name)

    def dtype_name(self, value: Any) -> str | None:
        return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else None

    def watched(self, note: Note, names: frozenset[str]) -> contextlib.AbstractContextManager[None]:
        return _Watching(note, names)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return x.transpose(-1, -2)
        if layout == "stepped":
            return x[..., ::2]
        return x.expand(2, *x.shape[1:]) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = [y for _, y in leaves_of(result)]
        return [y for y in found if isinstance(y, torch.Tensor) and (y.is_floating_point() or y.is_complex())]

    def fresh(self, x: Any) -> Any:
        return x.clone()

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        results = f(*[x.detach().requires_grad_() for x in arrays])
        found = tuple(k for k, y in enumerate(results) if y.requires_grad)
        return found if len(found) < len(results) else None

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with torch.no_grad():
            f(*arrays)

    def sin(self, x: Any) -> Any:
        return torch.sin(x)

    def total(self, x: Any) -> Any:
        return (x.real if x.is_complex() else x).sum()

    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        mapped: Callable[..., Any] = torch.vmap(f)
        return mapped

    def doubled(self, x: Any) -> Any:
        return torch.stack([x, 1.25 * x])

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(f, backend="aot_eager", dynamic=False)
        return compiled

    def seed(self) -> None:
        torch.manual_seed(0)

    def random_state(self) -> object:
        return torch.get_rng_state().numpy().tobytes()

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the nodes of autograd's graph, without those that only look at an array otherwise."""
        leaves = [x.detach().requires_grad_() for x in arrays]
        waiting = [y.grad_fn for y in self.leaves(f(*leaves)) if y.grad_fn is not None]
        found: dict[str, None] = {}
        seen = set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            found[node.name()] = None
            waiting += [inner for inner, _ in node.next_functions if inner is not None]
        return tuple(sorted(name for name in found if not name.startswith(_VIEWS)))

    header = "import torch"
    sin_code, map_code = "torch.sin", "torch.vmap"
    compile_code = "torch.compile"
    seed_code = "torch.manual_seed(0)"
    helpers_code = """

def leaves(result):
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    is_tensor = isinstance(result, torch.Tensor)
    return [result] if is_tensor and (result.is_floating_point() or result.is_complex()) else []


def total(y):
    return (y.real if y.is_complex() else y).sum()


def real_parts(ys):
    return [part for y in ys for part in ((y.real, y.imag) if y.is_complex() else (y,))]


def doubled(x):
    return torch.stack([x, 1.25 * x])
"""
    slope_code = """
def slope_rev(g, xs, v):
    slopes = torch.func.grad(g, tuple(range(len(xs))))(*xs)
    return sum((s * w).sum() for s, w in zip(slopes, v))


def slope_fwd(g, xs, v):
    return torch.func.jvp(g, tuple(xs), tuple(w.to(x.dtype) for w, x in zip(v, xs)))[1]
"""

    def slope_code_in(self, modes: Sequence[Mode]) -> str:
        """torch.func takes no autograd.Function without setup_context; torch.autograd.grad takes any."""
        return self.slope_code if "fwd" in modes else _REVERSE

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:
            return f"torch.zeros({array.shape}, dtype=torch.{array.dtype.name})"
        return f"torch.tensor({nested(array)}, dtype=torch.{array.dtype.name})"

    def dtype_code(self, name: str) -> str:
        return f"torch.{name}"

    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        if layout == "transposed":
            return f"{x}.transpose(-1, -2)"
        if layout == "stepped":
            return f"{x}[..., ::2]"
        return f"{x}.expand(2, {', '.join(['-1'] * (rank - 1))})" if layout == "expanded" else x

    def complex_code(self, re: str, im: str) -> str:
        return f"torch.complex({re}, {im})"


class _Watching(TorchFunctionMode):  # type: ignore[misc]  # of a module without types
    """Tells of every call of Torch that Python makes, methods and operators among them."""

    def __init__(self, note: Note, names: frozenset[str]) -> None:
        super().__init__()
        self._note = note
        self._names = names

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = resolve_name(func)
        if name in self._names:
            self._note(name, args, kwargs)
        return func(*args, **kwargs)


LIBRARY = TorchLibrary()

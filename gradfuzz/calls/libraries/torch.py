"""Calls of Torch's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from gradfuzz.calls.library import Library
from gradfuzz.calls.numbers import nested
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName


class TorchLibrary(Library):
    name: FrameworkName = "torch"

    def array(self, value: Array) -> Any:
        return framework_named("torch").array(value)

    def dtype(self, name: str) -> Any:
        return getattr(torch, name)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return x.transpose(-1, -2)
        if layout == "stepped":
            return x[..., ::2]
        return x.expand(2, *x.shape[1:]) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = pytree.tree_leaves(result)
        return [y for y in found if isinstance(y, torch.Tensor) and (y.is_floating_point() or y.is_complex())]

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

    @property
    def header(self) -> str:
        return "import torch"

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:  # nested lists do not tell its shape
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

    def gradient_code(self, forward: bool) -> str:
        if forward:
            return "def derivative(f, x, v):\n    return torch.func.jvp(f, (x,), (v,))[1].item()\n"
        return (
            "def derivative(f, x, v):\n"
            "    x = x.clone().requires_grad_()\n"
            "    (g,) = torch.autograd.grad(f(x), x)\n"
            "    return (g.conj() * v).sum().real.item()\n"
        )


LIBRARY = TorchLibrary()

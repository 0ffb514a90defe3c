"""Calls of MLX's functions. Arrays of float64 are for its CPU only."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from gradfuzz.calls.libraries.contract import Library
from gradfuzz.calls.libraries.numbers import nested
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName
from gradfuzz.tracing.common.leaves import leaves_of


class MlxLibrary(Library):
    name: FrameworkName = "mlx"
    refusals = (
        *("Not implemented", "not implemented", "not yet implemented", "not supported", "NYI"),
        *("does not support", "only supports", "Cannot calculate"),
    )

    def begin(self) -> None:
        mx.set_default_device(mx.cpu)

    def array(self, value: Array) -> Any:
        return framework_named("mlx").array(value)

    def dtype(self, name: str) -> Any:
        return getattr(mx, name)

    def dtype_name(self, value: Any) -> str | None:
        return str(value).rpartition(".")[2] if isinstance(value, mx.Dtype) else super().dtype_name(value)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return mx.swapaxes(x, -1, -2)
        if layout == "stepped":
            return x[..., ::2]
        return mx.broadcast_to(x, (2, *x.shape[1:])) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = [y for _, y in leaves_of(result)]
        return [y for y in found if isinstance(y, mx.array) and mx.issubdtype(y.dtype, mx.inexact)]

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        mx.eval(f(*arrays))

    def sin(self, x: Any) -> Any:
        return mx.sin(x)

    def total(self, x: Any) -> Any:
        return mx.sum(mx.real(x))

    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        mapped: Callable[..., Any] = mx.vmap(f)
        return mapped

    def doubled(self, x: Any) -> Any:
        return mx.stack([x, 1.25 * x])

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return _compiled(f)

    def seed(self) -> None:
        mx.random.seed(0)

    header = "import mlx.core\nimport mlx.core as mx\nimport mlx.nn"
    sin_code, map_code = "mx.sin", "mx.vmap"
    compile_code = "mx.compile"
    seed_code = "mx.random.seed(0)"
    helpers_code = """

def leaves(result):
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    return [result] if isinstance(result, mx.array) and mx.issubdtype(result.dtype, mx.inexact) else []


def total(y):
    return mx.sum(mx.real(y))


def real_parts(ys):
    parts = mx.real, mx.imag
    return [p(y) for y in ys for p in (parts if y.dtype == mx.complex64 else (lambda y: y,))]


def doubled(x):
    return mx.stack([x, 1.25 * x])
"""
    slope_code = """
def slope_rev(g, xs, v):
    found = mx.grad(g, list(range(len(xs))))(*xs)
    slopes = found if len(xs) > 1 else [found]
    return sum(total(s * w) for s, w in zip(slopes, v))


def slope_fwd(g, xs, v):
    v = [w.astype(x.dtype) for w, x in zip(v, xs)]
    return mx.jvp(lambda *xs: [g(*xs)], list(xs), v)[1][0]
"""

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:  # nested lists do not tell its shape
            return f"mx.zeros({array.shape}, mx.{_name(array.dtype.name)})"
        return f"mx.array({nested(array)}, mx.{_name(array.dtype.name)})"

    def dtype_code(self, name: str) -> str:
        return f"mx.{name}"

    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        if layout == "transposed":
            return f"mx.swapaxes({x}, -1, -2)"
        if layout == "stepped":
            return f"{x}[..., ::2]"
        return f"mx.broadcast_to({x}, (2, *{x}.shape[1:]))" if layout == "expanded" else x

    def complex_code(self, re: str, im: str) -> str:
        return f"({re} + 1j * {im})"


@functools.lru_cache(maxsize=4)
def _compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    """MLX keeps what it has compiled as long as the function that it returned."""
    compiled: Callable[..., Any] = mx.compile(f)
    return compiled


def _name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


LIBRARY = MlxLibrary()

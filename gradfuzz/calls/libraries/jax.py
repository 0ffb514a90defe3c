"""Calls of JAX's functions. Where an array has 64-bit floats, 64-bit types are enabled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.calls.library import Library
from gradfuzz.calls.numbers import nested
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.testing.frameworks.framework import FrameworkName

_NEEDS_VALUES = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""What a function raises that Python follows by the values of its arrays, which `eval_shape` has not."""

_WIDE = ("float64", "complex128")


class JaxLibrary(Library):
    name: FrameworkName = "jax"

    def array(self, value: Array) -> Any:
        with _types_of([value]):
            return jnp.asarray(value)

    def dtype(self, name: str) -> Any:
        return jnp.dtype(name)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return jnp.swapaxes(x, -1, -2)
        if layout == "stepped":
            return x[..., ::2]
        return jnp.broadcast_to(x, (2, *x.shape[1:])) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = jax.tree_util.tree_leaves(result)
        return [y for y in found if isinstance(y, jax.Array) and jnp.issubdtype(y.dtype, jnp.inexact)]

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with _types_of(arrays):
            try:
                jax.eval_shape(f, *arrays)
            except _NEEDS_VALUES:
                f(*arrays)

    def sin(self, x: Any) -> Any:
        return jnp.sin(x)

    def total(self, x: Any) -> Any:
        return jnp.sum(jnp.real(x))

    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        mapped: Callable[..., Any] = jax.vmap(f)
        return mapped

    def doubled(self, x: Any) -> Any:
        return jnp.stack([x, 1.25 * x])

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any] = jax.jit(f)
        return compiled

    @property
    def header(self) -> str:
        return (
            'import jax\nimport jax.numpy as jnp\nimport jax.scipy\njax.config.update("jax_enable_x64", True)'
        )

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:  # nested lists do not tell its shape
            return f"jnp.zeros({array.shape}, jnp.{array.dtype.name})"
        return f"jnp.array({nested(array)}, jnp.{array.dtype.name})"

    def dtype_code(self, name: str) -> str:
        return f"jnp.{name}"

    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        if layout == "transposed":
            return f"jnp.swapaxes({x}, -1, -2)"
        if layout == "stepped":
            return f"{x}[..., ::2]"
        return f"jnp.broadcast_to({x}, (2, *{x}.shape[1:]))" if layout == "expanded" else x

    def gradient_code(self, forward: bool) -> str:
        if forward:
            return "def derivative(f, x, v):\n    return jax.jvp(f, (x,), (v,))[1].item()\n"
        return "def derivative(f, x, v):\n    return (jax.grad(f)(x) * v).sum().real.item()\n"


def _types_of(arrays: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    is_wide = any(x.dtype.name in _WIDE for x in arrays)
    return jax.enable_x64(True) if is_wide else contextlib.nullcontext()


LIBRARY = JaxLibrary()

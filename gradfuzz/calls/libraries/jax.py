"""Calls of JAX's functions. Where an array has 64-bit floats, 64-bit types are enabled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.calls.libraries.contract import Library
from gradfuzz.calls.libraries.numbers import nested
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import Precision
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName
from gradfuzz.tracing.common.graph import entered
from gradfuzz.tracing.jax.trace import traced

_NEEDS_VALUES = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""What a function raises that Python follows by the values of its arrays, which `eval_shape` has not."""

_VIEWS = frozenset(
    ["reshape", "broadcast_in_dim", "transpose", "squeeze", "slice", "rev", "copy", "convert_element_type"]
)
"""Primitives that every call may have."""

_CUSTOM = {"custom_jvp_call": "custom_jvp", "custom_vjp_call": "custom_vjp"}

_WIDE = ("float64", "complex128")


class JaxLibrary(Library):
    name: FrameworkName = "jax"
    refusals = (
        *("not supported", "not implemented", "does not accept dtype", "Derivatives of non-symmetric"),
        "Derivatives not defined",
    )

    def begin(self) -> None:
        jax.config.update("jax_enable_x64", True)  # so that no function rounds a constant to float32
        jax.config.update("jax_traceback_filtering", "off")  # it takes longer than the call that raises
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # operations are small and many
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    def array(self, value: Array) -> Any:
        """A constant, also inside of a function that is traced: Python may read its numbers."""
        with _types_of([value]), jax.ensure_compile_time_eval():
            return framework_named(self.name).given(value)

    def dtype(self, name: str) -> Any:
        return jnp.dtype(name)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return jnp.swapaxes(x, -1, -2)
        if layout == "stepped":
            return x[..., ::2]
        return jnp.repeat(x, 2, axis=0) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = jax.tree_util.tree_leaves(result)
        return [y for y in found if isinstance(y, jax.Array) and jnp.issubdtype(y.dtype, jnp.inexact)]

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with _types_of(arrays):
            try:
                jax.eval_shape(f, *arrays)
            except _NEEDS_VALUES:
                f(*arrays)

    def estimate(self, f: Callable[..., Any], values: Sequence[Array]) -> list[Array] | None:
        """By the traced program: JAX compiles each operation anew for the shapes of each call."""
        try:
            program = traced(f, values)
            inputs = {p.name: entered(value) for p, value in zip(program.params, values, strict=True)}
            namespace = NumpyNamespace(cast("Precision", values[0].dtype.name))
            return [np.asarray(y) for y in interpret(program, inputs, namespace)]
        except Exception:  # noqa: BLE001 - not every function makes a program
            return None

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

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the primitives of floats, without those that only look at an array otherwise, and of
        functions with a rule of their own: "custom_jvp relu".
        """
        with _types_of(arrays):
            return tuple(sorted(set(_primitives(jax.make_jaxpr(f)(*arrays).jaxpr))))

    header = (
        'import jax\nimport jax.numpy as jnp\nimport jax.scipy\n\njax.config.update("jax_enable_x64", True)'
    )
    sin_code, map_code = "jnp.sin", "jax.vmap"
    compile_code = "jax.jit"
    seed_code = ""
    helpers_code = """

def leaves(result):
    found = [y for y in jax.tree.leaves(result) if isinstance(y, jax.Array)]
    return [y for y in found if jnp.issubdtype(y.dtype, jnp.inexact)]


def total(y):
    return jnp.sum(jnp.real(y))


def real_parts(ys):
    return [part for y in ys for part in ((y.real, y.imag) if jnp.iscomplexobj(y) else (y,))]


def doubled(x):
    return jnp.stack([x, 1.25 * x])
"""
    slope_code = """
def slope_rev(g, xs, v):
    slopes = jax.grad(g, tuple(range(len(xs))))(*xs)
    return sum((s * w).sum() for s, w in zip(slopes, v))


def slope_fwd(g, xs, v):
    return jax.jvp(g, tuple(xs), tuple(w.astype(x.dtype) for w, x in zip(v, xs)))[1]
"""

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
        return f"jnp.repeat({x}, 2, axis=0)" if layout == "expanded" else x

    def complex_code(self, re: str, im: str) -> str:
        return f"jax.lax.complex({re}, {im})"


def _primitives(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        name, inner = equation.primitive.name, _inner(equation)
        if name in _CUSTOM:
            yield f"{_CUSTOM[name]} {inner[0].debug_info.func_name}"
        elif inner:
            for one in inner:
                yield from _primitives(one)
        elif name not in _VIEWS and any(jnp.issubdtype(y.aval.dtype, jnp.inexact) for y in equation.outvars):
            yield name


def _inner(equation: Any) -> list[Any]:
    """The programs of which an equation consists."""
    leaves = jax.tree_util.tree_leaves(list(equation.params.values()))
    return [one for one in (getattr(leaf, "jaxpr", leaf) for leaf in leaves) if hasattr(one, "eqns")]


def _types_of(arrays: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    is_wide = any(x.dtype.name in _WIDE for x in arrays)
    return jax.enable_x64(True) if is_wide else contextlib.nullcontext()


LIBRARY = JaxLibrary()

"""Calls of TensorFlow's functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gradfuzz.calls.libraries.connected import connected
from gradfuzz.calls.libraries.contract import Library
from gradfuzz.calls.libraries.numbers import nested
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.private_names import private
from gradfuzz.testing.frameworks.framework import FrameworkName

_VIEWS = frozenset(
    ["Cast", "Identity", "IdentityN", "Reshape", "Transpose", "ConjugateTranspose", "Repeat", "StridedSlice"]
)
"""Ops that every call may have."""


_OF_A_NODE = "{{node "
"""What the words contain by which an op's own check of shapes and attributes refuses them, in a graph."""


class TensorflowLibrary(Library):
    name: FrameworkName = "tensorflow"
    entries = 24
    refusals = (
        *("No gradient defined", "gradient registry has no entry", "not implemented", "not supported"),
        *("No pfor vectorization defined", "No converter defined", "Could not find device for node"),
        *("No registered", "only supports", "doesn't support", "does not support", "must have `float`-like"),
        *("not yet support", "list of allowed values"),
    )

    def begin(self) -> None:
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.debugging.disable_traceback_filtering()  # it takes longer than a call that is refused

    def array(self, value: Array) -> Any:
        return tf.constant(np.asarray(value))

    def dtype(self, name: str) -> Any:
        return tf.as_dtype(name)

    def dtype_name(self, value: Any) -> str | None:
        return str(value.name) if isinstance(value, tf.DType) else super().dtype_name(value)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return tf.linalg.matrix_transpose(x)
        if layout == "stepped":
            return x[..., ::2]
        return tf.repeat(x, 2, axis=0) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = tf.nest.flatten(result, expand_composites=True)
        return [y for y in found if tf.is_tensor(y) and (y.dtype.is_floating or y.dtype.is_complex)]

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        """Also raises `UnsupportedError`: see `connected`."""
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(list(arrays))
            results = f(*arrays)
        return connected("TensorFlow", [tape.gradient(y, list(arrays)) for y in results])

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        if self.careful:  # a graph refuses shapes at which some kernels abort
            _follow(f, arrays)
            f(*arrays)
            return
        f(*arrays)
        try:
            _follow(f, arrays)
        except ValueError as error:  # what forward mode follows in a graph would be refused there
            if _OF_A_NODE in str(error):
                raise
        except Exception:  # noqa: BLE001 - a function that runs eagerly alone is valid
            return

    def sin(self, x: Any) -> Any:
        return tf.sin(x)

    def total(self, x: Any) -> Any:
        return tf.reduce_sum(tf.math.real(x))

    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return _mapped(f)

    def doubled(self, x: Any) -> Any:
        return tf.stack([x, tf.constant(1.25, x.dtype) * x])

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any] = tf.function(f, autograph=False)
        return compiled

    def seed(self) -> None:
        tf.random.set_seed(0)

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The types of the ops that have a gradient, without those that only look at an array otherwise."""
        graph = tf.function(f, autograph=False).get_concrete_function(*arrays).graph
        return tuple(sorted({op.type for op in graph.get_operations() if _has_rule(op.type)} - _VIEWS))

    header = "import tensorflow"
    product_code = 'w * tensorflow.cast(y, "float64")'
    sin_code = "tensorflow.sin"
    map_code = "mapped"
    compile_code = "tensorflow.function"
    seed_code = "tensorflow.random.set_seed(0)"
    helpers_code = """

def leaves(result):
    found = tensorflow.nest.flatten(result, expand_composites=True)
    return [y for y in found if tensorflow.is_tensor(y) and (y.dtype.is_floating or y.dtype.is_complex)]


def total(y):
    return tensorflow.reduce_sum(tensorflow.math.real(y))


def real_parts(ys):
    parts = tensorflow.math.real, tensorflow.math.imag
    return [part(y) for y in ys for part in (parts if y.dtype.is_complex else (tensorflow.identity,))]


def doubled(x):
    return tensorflow.stack([x, 1.25 * x])


def mapped(f):
    return tensorflow.function(lambda *xs: tensorflow.vectorized_map(lambda row: f(*row), xs))
"""
    slope_code = """
ZERO = tensorflow.UnconnectedGradients.ZERO


def slope_rev(g, xs, v):
    with tensorflow.GradientTape() as tape:
        tape.watch(xs)
        y = g(*xs)
    slopes = tape.gradient(y, xs, unconnected_gradients=ZERO)
    return sum(total(tensorflow.cast(s, "float64") * w) for s, w in zip(slopes, v))


def slope_fwd(g, xs, v):
    v = [tensorflow.cast(w, x.dtype) for w, x in zip(v, xs)]
    with tensorflow.autodiff.ForwardAccumulator(list(xs), v) as accumulator:
        y = g(*xs)
    return accumulator.jvp(y, unconnected_gradients=ZERO)
"""

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:
            return f'tensorflow.zeros({array.shape}, "{array.dtype.name}")'
        return f'tensorflow.constant({nested(array)}, "{array.dtype.name}")'

    def dtype_code(self, name: str) -> str:
        return f"tensorflow.{name}"

    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        if layout == "transposed":
            return f"tensorflow.linalg.matrix_transpose({x})"
        if layout == "stepped":
            return f"{x}[..., ::2]"
        return f"tensorflow.repeat({x}, 2, axis=0)" if layout == "expanded" else x

    def complex_code(self, re: str, im: str) -> str:
        return f"tensorflow.complex({re}, {im})"


def _follow(f: Callable[..., Any], arrays: Sequence[Any]) -> None:
    """Raises what a graph of the call raises. Eager kernels take ranks and attributes that it refuses."""
    tf.function(f, autograph=False).get_concrete_function(*arrays)


@functools.lru_cache(maxsize=4)
def _mapped(f: Callable[..., Any]) -> Callable[..., Any]:
    """The map as a graph: TensorFlow would trace it anew in every call."""

    def mapped(*arrays: Any) -> Any:
        return tf.vectorized_map(lambda xs: f(*xs), arrays, fallback_to_while_loop=False)

    compiled: Callable[..., Any] = tf.function(mapped, autograph=False)
    return compiled


def _has_rule(name: str) -> bool:
    """Whether the registry has a function for the gradient of an op."""
    registry = private("tensorflow.python.framework.ops.gradient_registry")
    try:
        return registry.lookup(name) is not None
    except LookupError:
        return False


LIBRARY = TensorflowLibrary()

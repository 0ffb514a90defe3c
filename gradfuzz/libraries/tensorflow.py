"""TensorFlow: GradientTape in reverse mode, ForwardAccumulator in forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow
import tensorflow as tf

from gradfuzz.libraries.composed import ComposedLibrary, connected
from gradfuzz.libraries.library import Forms, LibraryName
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.lacks import Lack
from gradfuzz.private_names import private

_LACKS = (  # forward mode differentiates the gradient
    Lack("No gradient defined", "tensorflow/python/eager/backprop.py", fwd=True, many=True),
    Lack("gradient registry has no entry", "tensorflow/python/framework/registry.py", fwd=True, many=True),
)

_VIEWS = frozenset(
    ["Cast", "Identity", "IdentityN", "Reshape", "Transpose", "ConjugateTranspose", "Repeat", "StridedSlice"]
)
"""Ops that every call may have."""


_OF_A_NODE = "{{node "
"""What the words contain by which an op's own check of shapes and attributes refuses them, in a graph."""


# Shown in scripts -------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    found = tensorflow.nest.flatten(result, expand_composites=True)
    return [y for y in found if tensorflow.is_tensor(y) and (y.dtype.is_floating or y.dtype.is_complex)]


def total(y: Any) -> Any:
    return tensorflow.reduce_sum(tensorflow.math.real(y))


def real_parts(ys: Any) -> list[Any]:
    parts = tensorflow.math.real, tensorflow.math.imag
    return [part(y) for y in ys for part in (parts if y.dtype.is_complex else (tensorflow.identity,))]


def doubled(x: Any) -> Any:
    return tensorflow.stack([x, 1.25 * x])


def mapped(f: Any) -> Any:
    def rows(*xs: Any) -> Any:
        return tensorflow.vectorized_map(lambda row: f(*row), xs, fallback_to_while_loop=False)

    return tensorflow.function(rows, autograph=False)


def gradient(g: Any, xs: Any) -> Any:
    zero = tensorflow.UnconnectedGradients.ZERO
    with tensorflow.GradientTape() as tape:
        tape.watch(list(xs))
        y = g(*xs)
    found = tape.gradient(y, list(xs), unconnected_gradients=zero)
    return [tensorflow.convert_to_tensor(slope) for slope in found]


def slope(g: Any, xs: Any, directions: Any) -> Any:
    zero = tensorflow.UnconnectedGradients.ZERO
    with tensorflow.autodiff.ForwardAccumulator(list(xs), list(directions)) as accumulator:
        y = g(*xs)
    return tensorflow.convert_to_tensor(accumulator.jvp(y, unconnected_gradients=zero))


# ------------------------------------------------------------------------------------------------------------


class TensorflowLibrary(ComposedLibrary):
    name: LibraryName = "tensorflow"
    version = str(tf.__version__)
    classes = (tf.Tensor, tf.Variable)
    lacks = _LACKS
    entries = 24
    refusals = (
        *("No gradient defined", "gradient registry has no entry", "not implemented", "not supported"),
        *("No pfor vectorization defined", "No converter defined", "Could not find device for node"),
        *("No registered", "only supports", "doesn't support", "does not support", "must have `float`-like"),
        *("not yet support", "list of allowed values"),
    )

    forms = Forms(
        header="import tensorflow",
        sin="tensorflow.sin",
        array="tensorflow.constant({entries}, {dtype})",
        zeros="tensorflow.zeros({shape}, {dtype})",
        dtype="tensorflow.{name}",
        pair="tensorflow.complex({re}, {im})",
        transposed="tensorflow.linalg.matrix_transpose({x})",
        expanded="tensorflow.repeat({x}, 2, axis=0)",
        parts="tensorflow.math",
        mapped="mapped({f})",
        compiled="tensorflow.function({f}, autograph=False)",
        seed="tensorflow.random.set_seed(0)",
        product="w * tensorflow.cast(y, tensorflow.float64)",
        cast="tensorflow.cast(w, x.dtype)",
    )

    def begin(self) -> None:
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.debugging.disable_traceback_filtering()  # it takes longer than a call that is refused

    def array(self, value: Array, like: Any = None) -> Any:
        return tf.constant(np.asarray(value))

    def like(self, value: Array, other: Any) -> Any:
        return tf.constant(np.asarray(value), other.dtype)

    def numpy(self, value: Any) -> Array:
        if isinstance(value, tf.IndexedSlices):
            value = tf.convert_to_tensor(value)
        return np.asarray(value.numpy() if hasattr(value, "numpy") else value)

    def dtype_name(self, value: Any) -> str | None:
        return str(value.name) if isinstance(value, tf.DType) else super().dtype_name(value)

    def is_complex(self, value: Any) -> bool:
        return bool(tf.as_dtype(getattr(value, "dtype", np.asarray(value).dtype)).is_complex)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [tf.reduce_sum(x * tf.cast(y, like.dtype)) for x, y in zip(xs, ys, strict=True)]
        return tf.add_n(terms) if terms else tf.zeros((), like.dtype)

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

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The types of the ops that have a gradient, without those that only look at an array otherwise."""
        graph = tf.function(f, autograph=False).get_concrete_function(*arrays).graph
        return tuple(sorted({op.type for op in graph.get_operations() if _has_rule(op.type)} - _VIEWS))


def _follow(f: Callable[..., Any], arrays: Sequence[Any]) -> None:
    """Raises what a graph of the call raises. Eager kernels take ranks and attributes that it refuses."""
    tf.function(f, autograph=False).get_concrete_function(*arrays)


def _has_rule(name: str) -> bool:
    """Whether the registry has a function for the gradient of an op."""
    registry = private("tensorflow.python.framework.ops.gradient_registry")
    try:
        return registry.lookup(name) is not None
    except LookupError:
        return False

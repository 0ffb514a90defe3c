"""Functions of TensorFlow's tensors: GradientTape in reverse mode, ForwardAccumulator in forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.lacks import Lack
from gradfuzz.testing.frameworks.composed import ComposedFramework, Scalar
from gradfuzz.testing.frameworks.framework import FrameworkName

_LACKS = (  # forward mode differentiates the gradient
    Lack("No gradient defined", "tensorflow/python/eager/backprop.py", fwd=True, many=True),
    Lack("gradient registry has no entry", "tensorflow/python/framework/registry.py", fwd=True, many=True),
)

_ZERO = tf.UnconnectedGradients.ZERO


class TensorflowFunctions(ComposedFramework):
    name: FrameworkName = "tensorflow"
    version = str(tf.__version__)
    lacks = _LACKS

    def is_array(self, value: Any) -> bool:
        return isinstance(value, (tf.Tensor, tf.Variable))

    def array(self, value: Array, like: Any = None) -> Any:
        return tf.constant(np.asarray(value))

    def like(self, value: Array, other: Any) -> Any:
        return tf.constant(np.asarray(value), other.dtype)

    def numpy(self, value: Any) -> Array:
        if isinstance(value, tf.IndexedSlices):
            value = tf.convert_to_tensor(value)
        return np.asarray(value.numpy() if hasattr(value, "numpy") else value)

    def pair(self, re: Any, im: Any) -> Any:
        return tf.complex(re, im)

    def parts(self, z: Any) -> tuple[Any, Any]:
        return tf.math.real(z), tf.math.imag(z)

    def is_complex(self, value: Any) -> bool:
        return bool(tf.as_dtype(getattr(value, "dtype", np.asarray(value).dtype)).is_complex)

    def gradient(self, g: Scalar, xs: Sequence[Any]) -> Sequence[Any]:
        with tf.GradientTape() as tape:
            tape.watch(list(xs))
            y = g(*xs)
        found = tape.gradient(y, list(xs), unconnected_gradients=_ZERO)
        return [tf.convert_to_tensor(slope) for slope in found]

    def slope(self, g: Scalar, xs: Sequence[Any], directions: Sequence[Any]) -> Any:
        with tf.autodiff.ForwardAccumulator(list(xs), list(directions)) as accumulator:
            y = g(*xs)
        return tf.convert_to_tensor(accumulator.jvp(y, unconnected_gradients=_ZERO))

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [tf.reduce_sum(x * tf.cast(y, like.dtype)) for x, y in zip(xs, ys, strict=True)]
        return tf.add_n(terms) if terms else tf.zeros((), like.dtype)

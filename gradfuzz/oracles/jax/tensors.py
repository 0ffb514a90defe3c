"""Tensor ops on JAX arrays, by the same text that a reproducer shows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from gradfuzz.oracles.emit.linalg_source import compiling
from gradfuzz.oracles.emit.tensor_source import TensorMethods
from gradfuzz.oracles.jax.tensors_source import write


class JaxTensors(TensorMethods):
    """The ops on JAX arrays."""

    tensor_op = staticmethod(compiling(write, {"jax": jax, "jnp": jnp, "lax": lax}))

    def operand(self, value: object) -> object:
        return jnp.asarray(value)

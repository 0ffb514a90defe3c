"""Linear algebra on JAX arrays, by the same text that a reproducer shows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax

from gradfuzz.oracles.emit.linalg_source import LinalgMethods, compiling
from gradfuzz.oracles.jax.linalg_source import write


class JaxLinalg(LinalgMethods):
    """The ops on JAX arrays."""

    compiled = staticmethod(compiling(write, {"jax": jax, "jnp": jnp, "lax": lax}))

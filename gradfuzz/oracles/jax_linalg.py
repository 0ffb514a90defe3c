"""Linear algebra on JAX arrays, by the text that a reproducer shows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax

from gradfuzz.oracles.jax_linalg_source import write
from gradfuzz.oracles.linalg_source import LinalgMethods, compiling

__all__ = ["JaxLinalg"]


class JaxLinalg(LinalgMethods):
    """The ops on JAX arrays."""

    compiled = staticmethod(compiling(write, {"jax": jax, "jnp": jnp, "lax": lax}))

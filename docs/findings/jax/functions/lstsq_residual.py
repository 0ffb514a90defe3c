"""The gradient of the residual of jax.numpy.linalg.lstsq is NaN where there is none, as of a square system.

    |b - A x|^2 is 0 for every matrix near A = [[2, 0], [0, 4]], and so is its gradient

The solution and its gradient are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a, b = jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([1.0, 2.0])


def residual(a):
    return jnp.sum(jnp.linalg.lstsq(a, b)[1])


got = jax.grad(residual)(a)
print(f"jax {jax.__version__}: the residual is {residual(a)}; gradient: expected 0, got {got.tolist()}")
sys.exit(int(not bool(jnp.all(jnp.abs(got) < 1e-9))))

"""The gradient of jnp.linalg.eigh is wrong where an eigenvalue w is so large that 1 + w rounds: from about 2^24 on in float32, 2^53 in float64.

The eigenvectors of s A are those of A, so a function of theirs has the gradient at s A that it has at A, divided by s. JAX is right up to
s = 1e6 in float32; from 1e7 on it returns infinities, NaN, or finite numbers that are wrong by a factor of ten million. The diagonal of the matrix
of gaps, 1 / (1 + w_j - w_i) - 1 for j = i, is 0 only while 1 + w - w is 1.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np


def f(a):
    _, v = jnp.linalg.eigh(a)
    return jnp.sum(v * v * jnp.array([[1.0, -2.0], [2.0, -4.0]], a.dtype))


a = jnp.array([[1.0, 0.5], [0.5, 2.0]], jnp.float32)
wrong = 0
for scale in (1.0, 1e6, 1e7, 1.5e7, 1e8):
    expected = np.asarray(jax.grad(f)(a)) / scale
    got = np.asarray(jax.grad(f)(a * scale))
    holds = np.allclose(got, expected, rtol=1e-3)
    wrong += not holds
    print(f"scale {scale:g}: expected {expected.ravel()}, got {got.ravel()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

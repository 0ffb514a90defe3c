"""Second derivatives of jnp.linalg.svd by reverse mode over reverse mode are wrong at singular values of a few hundred (float32) or thousand (float64).

The rule divides by s_i^2 - s_j^2 + 1 where i = j, and takes the 1 away again; differentiated, the diagonal leaves numbers of the size of s^3 that
should cancel, and do so up to rounding. Forward over reverse is right to the last digits.
Prints the relative error of both, and exits with 1 while the first is far larger than rounding.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from mpmath import mp

jax.config.update("jax_enable_x64", True)
mp.dps = 60
h = mp.mpf(10) ** -20

matrix = np.array([[3.0, -1.25, 0.75], [0.75, 5.25, -0.25]])
direction = np.array([[0.5, 0.5, -0.75], [1.75, 1.5, -1.875]])
weights = np.array([[0.875, 1.5, 1.75], [-1.125, 1.25, -2.0]])


def exact(a):
    """The weighted squares of the right singular vectors: no sign of a vector touches them."""
    _, _, vh = mp.svd_r(a, full_matrices=False)
    return mp.fsum(mp.mpf(weights[i, j]) * vh[i, j] ** 2 for i in range(2) for j in range(3))


def expected(a):
    """d/da of the derivative along the direction, by central differences of central differences."""
    start, along = mp.matrix(a.tolist()), mp.matrix(direction.tolist()) * h
    result = np.zeros(a.shape)
    for i in range(2):
        for j in range(3):
            step = mp.matrix(2, 3)
            step[i, j] = h
            corners = [(p * q, exact(start + p * step + q * along)) for p in (1, -1) for q in (1, -1)]
            result[i, j] = mp.fsum(sign * value for sign, value in corners) / (4 * h * h)
    return result


def by_jax(a):
    def f(x):
        return jnp.sum(weights.astype(a.dtype) * jnp.linalg.svd(x, full_matrices=False)[2] ** 2)

    d = jnp.asarray(direction, a.dtype)
    reverse = jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), d))(a)
    forward = jax.jvp(jax.grad(f), (a,), (d,))[1]
    return np.asarray(reverse, np.float64), np.asarray(forward, np.float64)


wrong = False
for dtype, scale in (("float64", 1.0), ("float64", 1e2), ("float64", 1e4), ("float32", 1.0), ("float32", 1e2)):
    a = (matrix * scale).astype(dtype)
    right = expected(a.astype(np.float64))
    errors = [np.abs(got - right).max() / np.abs(right).max() for got in by_jax(jnp.asarray(a))]
    print(f"{dtype}, entries times {scale:g}: reverse over reverse is off by {errors[0]:.1e}, forward over reverse by {errors[1]:.1e}")
    wrong = wrong or errors[0] > 1e4 * np.finfo(dtype).eps
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

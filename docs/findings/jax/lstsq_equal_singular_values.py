"""The gradient of jnp.linalg.lstsq by the matrix is wrong or NaN where singular values are equal, as for orthogonal columns of equal length.

The least-squares solution of a matrix of full rank is a smooth function of it, (x' x)^-1 x' y, or x' (x x')^-1 y where there are
fewer rows than columns. The truth is the derivative of that by mpmath's differences.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from mpmath import mp

mp.dps = 40
jax.config.update("jax_enable_x64", True)


def exact(x, y):
    """The sum of the solution."""
    tall = x.rows >= x.cols
    solution = (x.T * x) ** -1 * (x.T * y) if tall else x.T * ((x * x.T) ** -1 * y)
    return sum(solution)


def expected(x, y):
    def moved(h, i, j):
        matrix = mp.matrix(x)
        matrix[i, j] += h
        return exact(matrix, mp.matrix(y))

    return np.array([[float(mp.diff(lambda h: moved(h, i, j), 0)) for j in range(len(x[0]))] for i in range(len(x))])


wrong = 0
for x, y in (
    ([[1.0, 1.0], [1.0, -1.0]], [2.0, 0.75]),
    ([[1.0, 2.0], [2.0, -1.0], [0.0, 0.0]], [2.0, 0.75, 1.0]),
    ([[1.0, 0.0], [0.0, 1.0]], [2.0, 0.75]),
    ([[1.0, 0.5], [0.25, -1.0]], [2.0, 0.75]),
):
    right = expected(x, y)
    got = np.asarray(jax.grad(lambda a, b: jnp.sum(jnp.linalg.lstsq(a, b)[0]))(jnp.array(x), jnp.array(y)))
    holds = np.allclose(got, right, rtol=1e-10, atol=1e-10)
    wrong += not holds
    print(f"jax {jax.__version__}, x = {x}: expected {right.ravel()}, got {got.ravel()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

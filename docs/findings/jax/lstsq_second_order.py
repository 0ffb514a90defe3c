"""The second derivative of jnp.linalg.lstsq in float32 is right to three or four digits only, at ordinary numbers.

For rows x = [x1, x2], lstsq(2 x, x) is the matrix x' x / (2 |x|^2), and the sum of its entries (x1 + x2)^2 / (2 (x1^2 + x2^2)). Reverse mode over
reverse mode, along [1, 1]; the truth by mpmath. Forward mode over reverse mode is right to seven digits.
Prints the relative errors, and exits with 1 while one is far larger than rounding.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from mpmath import mp

mp.dps = 50


def f(x):
    return jnp.sum(jnp.linalg.lstsq(2 * x, x)[0])


def exact(x1, x2):
    return (x1 + x2) ** 2 / (2 * (x1 * x1 + x2 * x2))


def expected(x1, x2):
    second = {orders: mp.diff(exact, (x1, x2), orders) for orders in ((2, 0), (1, 1), (0, 2))}
    return np.array([[second[2, 0] + second[1, 1], second[1, 1] + second[0, 2]]], float)


x, v = jnp.array([[3.0, 0.5]], jnp.float32), jnp.ones((1, 2), jnp.float32)
right = expected(3.0, 0.5)
ways = {
    "reverse over reverse": jax.grad(lambda y: jnp.vdot(jax.grad(f)(y), v))(x),
    "forward over reverse": jax.jvp(jax.grad(f), (x,), (v,))[1],
}
wrong = False
for name, got in ways.items():
    error = np.abs(np.asarray(got, float) - right).max() / np.abs(right).max()
    print(f"jax {jax.__version__}, {name}: expected {right.ravel()}, got {np.asarray(got).ravel()}, relative error {error:.1e}")
    wrong |= error > 5e-5
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

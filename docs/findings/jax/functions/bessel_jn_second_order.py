"""The second derivative of jax.scipy.special.bessel_jn is wrong by a factor of a million near 0.

    J_1(x) = x / 2 - x^3 / 16 + x^5 / 384 - ..., so J_1''(x) = -3 x / 8 + 5 x^3 / 96 - 7 x^5 / 3072 + ...

The value and the first derivative are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
wrong = False
print(f"jax {jax.__version__}")


def j1(x):
    return jax.scipy.special.bessel_jn(jnp.array([x]), v=1)[1, 0]


for x in (0.0625, 0.125, 0.25):
    expected = -3.0 * x / 8.0 + 5.0 * x**3 / 96.0 - 7.0 * x**5 / 3072.0
    for outer in (jax.grad, jax.jacfwd):
        got = float(outer(jax.grad(j1))(x))
        print(f"{outer.__name__} of grad at {x}: expected {expected:.9f}, got {got:.9f}")
        wrong = wrong or not abs(got - expected) < 1e-6
sys.exit(int(wrong))

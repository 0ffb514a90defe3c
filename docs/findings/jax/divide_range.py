"""The derivative of x / y by y in JAX is 0 or infinite where y^2 leaves the range and it does not.

    by x it is 1 / y, by y it is -x / y^2; computed is -x times y^-2

In forward mode the derivative by x is NaN, too: a tangent 0 of y is multiplied with an infinite y^-2. Prints
expected and got, and exits with 1 while they differ.
"""

import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)


def divide(x, y):
    return x / y


wrong = False
print(f"jax {jax.__version__}")
for dtype, x, y, by_x, by_y in (
    (np.float32, 3.0, 2.0, 0.5, -0.75),
    (np.float32, 1e-20, 1e-20, 1e20, -1e20),
    (np.float32, 1e-25, 1e-21, 1e21, -1e17),
    (np.float32, 1e20, 1e20, 1e-20, -1e-20),
    (np.float64, 1e-160, 1e-160, 1e160, -1e160),
    (np.float64, 1e160, 1e160, 1e-160, -1e-160),
):
    for mode in (jax.grad, jax.jacfwd):
        got = mode(divide, (0, 1))(dtype(x), dtype(y))
        for name, expected, one in zip("xy", (by_x, by_y), map(float, got), strict=True):
            right = abs(one - expected) <= 1e-5 * abs(expected)
            wrong |= not right
            text = (
                f"{dtype.__name__}, {x} / {y} by {name}, {mode.__name__}: expected {expected}, got {one:.6g}"
            )
            print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

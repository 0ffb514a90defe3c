"""The derivative of jnp.expm1 is 0, or right to a few digits only, for negative arguments.

It is exp(x), and computed as expm1(x) + 1, which cancels: from x = -18 in float32 and from -38 in float64 on
nothing is left. Prints expected, by mpmath, and got, and exits with 1 while they differ.
"""

import sys

import jax
import jax.numpy as jnp
import mpmath
import numpy as np

jax.config.update("jax_enable_x64", True)
wrong = False
print(f"jax {jax.__version__}")
for dtype, digits, points in (
    (np.float32, 1e-5, (-1.0, -10.0, -20.0)),
    (np.float64, 1e-12, (-1.0, -30.0, -40.0)),
):
    for x in points:
        expected = float(mpmath.exp(x))
        for mode in (jax.grad, jax.jacfwd):
            got = float(mode(jnp.expm1)(dtype(x)))
            right = abs(got - expected) <= digits * expected
            wrong |= not right
            text = f"{dtype.__name__}, {x}, {mode.__name__}: expected {expected:.9g}, got {got:.9g}"
            print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

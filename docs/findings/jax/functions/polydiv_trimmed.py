"""The derivative of the remainder of jnp.polydiv with trim_leading_zeros=True is 0.

    x^2 + 2 x + 3 divided by x + 3 has the remainder 3 - 3 (2 - 3) = 6. By the coefficients u of the first and v
    of the second polynomial, u2 - v1 (u1 - u0 v1 / v0) / v0 has the slopes (9, -3, 1) and (-12, 4).

The value is right, and so is the derivative without the keyword. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
u, v = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 3.0])
expected = [9.0, -3.0, 1.0], [-12.0, 4.0]
wrong = False
print(f"jax {jax.__version__}")
for trim in (False, True):
    for mode in (jax.jacfwd, jax.jacrev):
        slopes = mode(lambda u, v, trim=trim: jnp.polydiv(u, v, trim_leading_zeros=trim)[1][-1], argnums=(0, 1))
        got = [np.asarray(slope).tolist() for slope in slopes(u, v)]
        print(f"trim_leading_zeros={trim}, {mode.__name__}: expected {list(expected)}, got {got}")
        wrong = wrong or any(not np.allclose(g, e, rtol=0.0, atol=1e-9) for g, e in zip(got, expected, strict=True))
sys.exit(int(wrong))

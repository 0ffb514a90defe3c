"""The derivative of jax.numpy.arccosh of complex numbers has the opposite sign where the real part is negative.

It is 1 / (sqrt(z - 1) sqrt(z + 1)); the rule has the square root of the product, which lies on the other
branch there. Prints expected and got, and exits with 1 while they differ.
"""

import cmath
import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for z in (2.0 + 1.0j, -2.0 - 1.0j, -0.5 + 0.25j):
    expected = 1.0 / (cmath.sqrt(z - 1.0) * cmath.sqrt(z + 1.0))
    got = complex(jax.grad(jnp.arccosh, holomorphic=True)(z))
    step = 1e-6
    slope = complex(jnp.arccosh(z + step) - jnp.arccosh(z - step)) / (2.0 * step)
    holds = abs(got - expected) < 1e-12
    wrong |= not holds
    print(f"{z}: expected {expected:.6f}, differences {slope:.6f}, got {got:.6f}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

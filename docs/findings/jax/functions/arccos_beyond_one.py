"""The derivative of jax.numpy.arccos and arcsin of complex numbers has the opposite sign at real numbers above 1.

Such a number lies on the branch cut, and the value is that of the upper side. Along the cut the derivative of
arccos is -1 / (sqrt(1 - z) sqrt(1 + z)), that of arcsin the opposite of it. Prints expected and got, and exits with
1 while they differ.
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
for f, sign in ((jnp.arccos, -1.0), (jnp.arcsin, 1.0)):
    for z in (2.0 + 0.0j, -2.0 + 0.0j, 2.0 + 1.0j):
        expected = sign / (cmath.sqrt(complex(1.0 - z.real, -z.imag)) * cmath.sqrt(1.0 + z))
        got = complex(jax.grad(f, holomorphic=True)(z))
        step = 1e-6
        slope = complex(f(z + step) - f(z - step)) / (2.0 * step)
        holds = abs(got - expected) < 1e-12
        wrong |= not holds
        print(f"{f.__name__} at {z}: expected {expected:.6f}, differences {slope:.6f}, got {got:.6f}")
sys.exit(1 if wrong else 0)

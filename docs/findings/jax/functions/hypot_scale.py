"""The first derivative of jax.numpy.hypot is wrong for large numbers, and NaN or infinite for small ones.

By x it is x / hypot(x, y), by y the same of y, whatever the scale. Prints expected and got, and exits with 1 while they
differ.
"""

import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)

expected = (0.2**0.5, 0.8**0.5)
wrong = False
for scale, dtype in ((1.0, "float64"), (1e200, "float64"), (1e-170, "float64"), (1e20, "float32")):
    x, y = jnp.asarray(scale, dtype), jnp.asarray(2.0 * scale, dtype)
    got = [float(g) for g in jax.grad(jnp.hypot, argnums=(0, 1))(x, y)]
    holds = all(abs(g - e) <= 1e-6 for g, e in zip(got, expected))
    wrong |= not holds
    print(f"({scale:g}, {2 * scale:g}) {dtype}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

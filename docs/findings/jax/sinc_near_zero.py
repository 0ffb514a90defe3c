"""The derivatives of jax.numpy.sinc next to 0 cancel.

    sin(pi x) / (pi x) = 1 - pi^2 x^2 / 6 + pi^4 x^4 / 120 - ...

At 0 itself they are right. Expected is the sum of the first terms. Prints expected and got, and exits with 1 while they
differ by more than a hundredth.
"""

import math
import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
first, second = jax.grad(jnp.sinc), jax.grad(jax.grad(jnp.sinc))
wrong = False
for dtype, points in ((jnp.float64, (0.0, 1e-2, 1e-8, 1e-9)), (jnp.float32, (0.0, 1e-2, 1e-4, 1e-5))):
    for x in points:
        truths = -(math.pi**2) * x / 3 + math.pi**4 * x**3 / 30, -(math.pi**2) / 3 + math.pi**4 * x**2 / 10
        for name, f, expected in zip(("first", "second"), (first, second), truths):
            got = float(f(dtype(x)))
            holds = abs(got - expected) <= 1e-2 * abs(expected)
            wrong |= not holds
            print(f"{dtype.__name__}, {x}, {name}: expected {expected:.9g}, got {got:.9g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

"""The Hessian of jnp.hypot is 0 where both arguments have the same size.

With r = hypot(x, y) it is [[y^2, -x y], [-x y, x^2]] / r^3. Prints expected and got at (0.5, 0.5) and
(3, -3), and beside them at (0.5, 0.6), where it is right; exits with 1 while they differ.
"""

import sys

try:
    import jax
except ImportError:
    print("this script needs jax")
    sys.exit(125)
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

wrong = False
for x, y in ((0.5, 0.5), (3.0, -3.0), (0.5, 0.6)):
    got = np.asarray(jax.hessian(jnp.hypot, argnums=(0, 1))(x, y))
    expected = np.array([[y * y, -x * y], [-x * y, x * x]]) / np.hypot(x, y) ** 3
    print(f"({x}, {y})  expected {expected.tolist()}  got {got.tolist()}")
    wrong = wrong or np.abs(got - expected).max() > 1e-9 * np.abs(expected).max()
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

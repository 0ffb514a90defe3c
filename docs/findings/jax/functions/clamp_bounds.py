"""jax.lax.clamp where the lower bound is above the upper one: the value is the upper bound, and its derivative by it is 0.

clamp(2, x, h) is h for any x <= 2 (min(max(x, 2), h)), so that its derivative by h is 1, and 0 by x and by the lower bound. jnp.clip, which computes the
same, is right. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for name, f in (("lax.clamp", jax.lax.clamp), ("jnp.clip", lambda low, x, high: jnp.clip(x, low, high))):
    for x in (0.5, 1.5):
        value = float(f(2.0, x, 1.0))
        moved = float(f(2.0, x, 1.0 + 2.0**-10))
        got = [float(g) for g in jax.grad(f, argnums=(0, 1, 2))(2.0, x, 1.0)]
        assert (value, moved) == (1.0, 1.0 + 2.0**-10), "the value is the upper bound"
        print(f"{name}(2, {x}, 1): expected [0.0, 0.0, 1.0], got {got}")
        wrong = wrong or got != [0.0, 0.0, 1.0]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The derivatives of jax.lax.clamp by a scalar bound raise where the clamped array is no scalar.

    The sum of clamp(lower, x, upper) moves with a bound by the number of entries of x beyond it

A scalar bound is documented, the value and the derivative by x are right. Prints expected and got, and exits
with 1 while one raises.
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
x = jnp.array([1.0, 1.25, 2.0, 3.0])


def total(lower, upper):
    return jnp.sum(jax.lax.clamp(lower, x, upper))


wrong = False
print(f"jax {jax.__version__}: value: expected 7.5, got {total(1.5, 2.5)}")
for k, (name, expected) in enumerate({"lower": 2.0, "upper": 1.0}.items()):
    for mode in (jax.grad, jax.jacfwd):
        try:
            got = mode(total, argnums=k)(1.5, 2.5)
        except (TypeError, AssertionError) as error:
            raised = f"{type(error).__name__}: {str(error)[:70]}"
            print(f"by {name}, {mode.__name__}: expected {expected}, {raised}")
            wrong = True
        else:
            print(f"by {name}, {mode.__name__}: expected {expected}, got {got}")
            wrong = wrong or float(got) != expected
sys.exit(int(wrong))

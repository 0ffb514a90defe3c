"""The gradient of jax.scipy.stats.expon.cdf is NaN far below the location.

    The distribution function is 0 below the location, and so is its slope

The value is right, and so is the slope nearer to the location. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
wrong = False
print(f"jax {jax.__version__}")
for x in (jnp.float64(-1.0), jnp.float64(-720.0), jnp.float32(-100.0)):
    value, slope = jax.value_and_grad(jax.scipy.stats.expon.cdf)(x)
    print(f"{x.dtype} {x}: value {value}, expected 0; slope {slope}, expected 0")
    wrong = wrong or not slope == 0.0
sys.exit(int(wrong))

"""The gradient of jax.scipy.stats.truncnorm.cdf, sf, logcdf and logsf by the bounds is NaN beyond a bound.

    cdf(x, a, b) = 1 for x above b, and sf(x, a, b) = 1 for x below a: the slopes by x, a and b are 0

The values and forward mode are right. Prints expected and got, and exits with 1 while a slope is no number.
"""

import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
truncnorm = jax.scipy.stats.truncnorm
wrong = False
print(f"jax {jax.__version__}, a = -2, b = 2")
for name, x in (("cdf", 3.0), ("logcdf", 3.0), ("sf", -3.0), ("logsf", -3.0)):
    for mode in (jax.jacfwd, jax.grad):
        got = np.array(mode(getattr(truncnorm, name), argnums=(0, 1, 2))(x, -2.0, 2.0))
        print(f"{name} at {x:+}, {mode.__name__}: expected [0, 0, 0], got {got}")
        wrong = wrong or not np.all(got == 0.0)
sys.exit(int(wrong))

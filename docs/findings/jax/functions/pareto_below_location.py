"""The gradient of the functions of jax.scipy.stats.pareto by the shape is NaN below the location.

    pdf = cdf = 0 and sf = 1 for x < loc + 1: the slopes by x, the shape b and loc are 0

The values and forward mode are right; between loc and loc + 1 reverse mode is, too. Prints expected and
got, and exits with 1 while a slope is no number.
"""

import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
pareto = jax.scipy.stats.pareto
wrong = False
print(f"jax {jax.__version__}, at x = 3, b = 2, loc = 4")
for name in ("pdf", "cdf", "sf", "logsf"):
    for mode in (jax.jacfwd, jax.grad):
        got = np.array(mode(getattr(pareto, name), argnums=(0, 1, 2))(3.0, 2.0, 4.0))
        print(f"{name}, {mode.__name__}: expected [0, 0, 0], got {got}")
        wrong = wrong or not np.all(got == 0.0)
sys.exit(int(wrong))

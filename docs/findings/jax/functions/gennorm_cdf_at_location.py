"""The gradient of jax.scipy.stats.gennorm.cdf at the location, x = 0, is NaN; the value 1/2 is right.

By x it is the density beta / (2 Gamma(1 / beta)), and by beta it is 0. Prints expected and got, and exits
with 1 while they differ.
"""

import math
import sys

try:
    import jax
    from jax.scipy.stats import gennorm
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for beta in (1.5, 2.0, 3.0):
    for k, expected in ((0, beta / (2.0 * math.gamma(1.0 / beta))), (1, 0.0)):
        got = float(jax.grad(gennorm.cdf, k)(0.0, beta))
        holds = math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-12)
        wrong |= not holds
        text = f"cdf(0, {beta}) by {('x', 'beta')[k]}: expected {expected:.9f}, got {got:.9f}"
        print(f"{text}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

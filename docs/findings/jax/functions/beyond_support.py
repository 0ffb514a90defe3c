"""Derivatives of functions of jax.scipy.stats are NaN beyond the support of their distribution.

    there a density is 0, cdf is 0 or 1, and so is sf: the slopes by the number and by the shape are 0

The values are right, and one of the two modes is. Prints expected and got, and exits with 1 while a slope is
no number.
"""

import math
import sys

import jax

jax.config.update("jax_enable_x64", True)
stats = jax.scipy.stats
asked = {
    "beta.pdf(2, 2, b) by b at 3": (lambda b: stats.beta.pdf(2.0, 2.0, b), 3.0),
    "beta.sf(x, 1/2, 1/2) at 2": (lambda x: stats.beta.sf(x, 0.5, 0.5), 2.0),
    "chi2.pdf(-1, df) by df at 3": (lambda df: stats.chi2.pdf(-1.0, df), 3.0),
    "chi2.cdf(x, 2) at -1": (lambda x: stats.chi2.cdf(x, 2.0), -1.0),
    "chi2.sf(x, 2) at -1": (lambda x: stats.chi2.sf(x, 2.0), -1.0),
    "gamma.sf(x, 2) at -1": (lambda x: stats.gamma.sf(x, 2.0), -1.0),
    "pareto.pdf(3, b, 4) by b at 2": (lambda b: stats.pareto.pdf(3.0, b, 4.0), 2.0),
    "pareto.cdf(3, b, 4) by b at 2": (lambda b: stats.pareto.cdf(3.0, b, 4.0), 2.0),
    "pareto.sf(3, b, 4) by b at 2": (lambda b: stats.pareto.sf(3.0, b, 4.0), 2.0),
}
wrong = False
print(f"jax {jax.__version__}")
for name, (function, x) in asked.items():
    got = {mode.__name__: float(mode(function)(x)) for mode in (jax.jacfwd, jax.grad)}
    print(f"{name}: expected 0, got {got}")
    wrong = wrong or any(math.isnan(slope) or slope != 0.0 for slope in got.values())
sys.exit(int(wrong))

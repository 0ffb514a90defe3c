"""The derivative of jax.scipy.stats.poisson.logpmf and pmf by the mean is NaN where count and mean are 0.

pmf(0, mu) is exp(-mu), and its logarithm -mu. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import jax
    from jax.scipy.stats import poisson
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for name, f in (("logpmf", poisson.logpmf), ("pmf", poisson.pmf)):
    for mean in (0.5, 0.0):
        expected = -1.0 if name == "logpmf" else -math.exp(-mean)
        reverse = float(jax.grad(lambda mu: f(0, mu))(mean))
        forward = float(jax.jvp(lambda mu: f(0, mu), (mean,), (1.0,))[1])
        holds = abs(reverse - expected) < 1e-12 and abs(forward - expected) < 1e-12
        wrong |= not holds
        print(f"{name}(0, {mean}): expected {expected}, got {reverse}, {forward}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

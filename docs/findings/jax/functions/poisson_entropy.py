"""The forward derivative of jax.scipy.stats.poisson.entropy is NaN for mu below 100; in float32 the gradient is NaN, too, below 0.3 and from 88 on.

-sum p log p with p = exp(-mu) mu^k / k!. Expected is the derivative of that sum by mpmath. Terms beyond a bound are replaced by 0 and then go through
-p log p, whose slope is infinite at 0: times the tangent 0 that is NaN. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import jax
    import mpmath
    import numpy as np
    from jax.scipy.stats import poisson
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
mpmath.mp.dps = 30


def entropy(mu):
    def term(k):
        logarithm = k * mpmath.log(mu) - mu - mpmath.loggamma(k + 1)
        return -mpmath.exp(logarithm) * logarithm

    return mpmath.fsum(term(k) for k in range(300))


def rounding(mu):
    """The error of the derivative where each of the numbers that are added up to log p has a relative error of 1."""

    def term(k):
        parts = k * mpmath.log(mu), mpmath.mpf(mu), mpmath.loggamma(k + 1)
        logarithm = parts[0] - parts[1] - parts[2]
        slope = mpmath.exp(logarithm) * (k / mpmath.mpf(mu) - 1)
        return abs(slope) * (abs(logarithm + 1) + 1) * (1 + sum(map(abs, parts)))

    return float(mpmath.fsum(term(k) for k in range(300)))


wrong = False
for dtype in (np.float64, np.float32):
    for mu in (0.129, 1.0, 5.0, 20.0, 99.0):
        number = dtype(mu)
        expected = float(mpmath.diff(entropy, float(number)))
        got = jax.grad(poisson.entropy)(number), jax.jvp(poisson.entropy, (number,), (dtype(1),))[1]
        # Of rounding, and of the terms that JAX leaves out.
        allowed = np.finfo(dtype).eps * rounding(float(number)) + 1e-6 * abs(expected)
        wrong |= not all(abs(slope - expected) <= allowed for slope in got)
        print(f"mu {mu}, {dtype.__name__}: expected {expected:.6g}, got {got[0]:.6g} (reverse), {got[1]:.6g} (forward)")
sys.exit(1 if wrong else 0)

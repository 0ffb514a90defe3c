"""The gradient of jax.scipy.stats.binom.pmf and bernoulli.pmf by p is NaN at p = 0 and p = 1, and so is the
derivative in forward mode, or that of binom.pmf is 0.

    pmf(0, n, p) = (1 - p)^n has the slope -n at p = 0, pmf(1, n, p) = n p (1 - p)^(n - 1) the slope n,
    and pmf(n, n, p) = p^n the slope n at p = 1; with n = 1 these are 1 - p and p, whose logarithms have the
    same slopes at p = 0 and p = 1

The values are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import jax

jax.config.update("jax_enable_x64", True)
wrong = False
print(f"jax {jax.__version__}")
for k, p, value, expected in ((0.0, 0.0, 1.0, -5.0), (1.0, 0.0, 0.0, 5.0), (5.0, 1.0, 1.0, 5.0)):
    got, slope = jax.value_and_grad(lambda p, k=k: jax.scipy.stats.binom.pmf(k, 5.0, p))(p)
    print(f"pmf({k}, 5, {p}): value {got}, expected {value}; slope {slope}, expected {expected}")
    forward = jax.jvp(lambda p, k=k: jax.scipy.stats.binom.pmf(k, 5.0, p), (p,), (1.0,))[1]
    print(f"    in forward mode {forward}, expected {expected}")
    wrong = wrong or not (abs(slope - expected) < 1e-9 and abs(forward - expected) < 1e-9)
for name in ("pmf", "logpmf"):
    for k, p, expected in ((0.0, 0.0, -1.0), (1.0, 1.0, 1.0)):

        def f(p, k=k, name=name):
            return getattr(jax.scipy.stats.bernoulli, name)(k, p)

        slope, forward = jax.grad(f)(p), jax.jvp(f, (p,), (1.0,))[1]
        print(f"bernoulli.{name}({k}, {p}): slope {slope}, in forward mode {forward}, expected {expected}")
        wrong = wrong or not (abs(slope - expected) < 1e-9 and abs(forward - expected) < 1e-9)
sys.exit(int(wrong))

"""jax.scipy.special.betaln has six to nine right digits in float64 from 8 on, and so has its gradient.

    log(Gamma(a) Gamma(b) / Gamma(a + b)): betaln(1, 8) = -log 8, and by a it is digamma(a) - digamma(a + b)

Below 8 all digits are right. Expected is mpmath's. Prints expected and got, and exits with 1 while
they differ by more than 1e-12.
"""

import sys

import jax
import mpmath
from jax.scipy.special import betaln

jax.config.update("jax_enable_x64", True)
mpmath.mp.dps = 60
wrong = False
print(f"jax {jax.__version__}")
for a, b in ((1.0, 7.5), (1.0, 8.0), (0.5, 10.0), (2.5, 10.0), (8.0, 9.0), (10.0, 20.0)):
    x, y = mpmath.mpf(a), mpmath.mpf(b)
    value = mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y)
    slopes = [mpmath.digamma(z) - mpmath.digamma(x + y) for z in (x, y)]
    got = [betaln(a, b), *jax.grad(betaln, (0, 1))(a, b)]
    for name, expected, one in zip(("value", "by a", "by b"), [value, *slopes], map(float, got), strict=True):
        off = float(abs(one / expected - 1))
        wrong |= not off <= 1e-12
        text = f"betaln({a}, {b}), {name}: expected {float(expected):.15g}, got {one:.15g}"
        print(f"{text}{'' if off <= 1e-12 else f'   wrong by {off:.1e}'}")
sys.exit(int(wrong))

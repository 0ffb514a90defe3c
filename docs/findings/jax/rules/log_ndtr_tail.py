"""The derivatives of jax.scipy.special.log_ndtr, and of jax.scipy.stats.norm.logcdf, lose their digits as x
falls, in float32 all of them.

    log_ndtr(x) = log(Phi(x)) has the slope g = exp(-x^2/2) / (sqrt(2 pi) Phi(x)), about -x,
    and the second derivative -g (x + g), about -1

Expected are mpmath's at 60 digits. Prints expected and got, and exits with 1 while one is off by more than
half the digits of its type.
"""

import sys

import jax
import jax.numpy as jnp
import mpmath

jax.config.update("jax_enable_x64", True)
mpmath.mp.dps = 60
log_ndtr = jax.scipy.special.log_ndtr


def slopes(x):
    x = mpmath.mpf(x)
    g = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi) / (mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
    return g, -g * (x + g)


wrong = False
print(f"jax {jax.__version__}")
for dtype, points in (
    (jnp.float32, (-5.0, -50.0, -100.0, -1000.0, -5000.0, -30000.0)),
    (jnp.float64, (-5.0, -20.5, -30.0, -1e5, -1e8, -1e9)),
):
    allowed = float(jnp.finfo(dtype).eps) ** 0.5
    for x in map(dtype, points):
        true = slopes(float(x))
        first = jax.grad(log_ndtr)
        for order, expected, function in zip((1, 2), true, (first, jax.grad(first)), strict=True):
            got = float(function(x))
            off = float(abs((got - expected) / expected))
            if order == 2 and abs(x) > 100:  # x + g is less than what rounding g may be off
                continue
            text = f"{x.dtype} {x}, order {order}: expected {mpmath.nstr(expected, 10)}, got {got:.10g}"
            print(f"{text}{'' if off <= allowed else f'   wrong by {off:.1e}'}")
            wrong |= not off <= allowed
sys.exit(int(wrong))

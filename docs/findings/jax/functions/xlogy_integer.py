"""The derivatives of jax.scipy.special.xlogy, xlog1py, poch, hyp1f1 and hyp2f1 raise where an argument is an
integer, and so do those of functions of jax.scipy.stats that call them so.

    xlogy(2, y) = 2 log(y) has the slope 2 / y, and xlog1py(2, y) = 2 log(1 + y) the slope 2 / (1 + y);
    poch(y, 2) = y (y + 1) has the slope 2 y + 1;
    hyp1f1(1, 1, x) = exp(x) has the slope exp(x);
    hyp2f1(1, 1, 1, x) = 1 / (1 - x) has the slope 1 / (1 - x)^2;
    gumbel_l.ppf(p) = log(-log(1 - p)) has the slope -1 / ((1 - p) log(1 - p));
    gumbel_r.ppf(p) = -log(-log(p)) has the slope -1 / (p log(p));
    gumbel_r.logpdf(0, 0, s) = -log(s) - 1 has the slope -1 / s, and so has gumbel_l.logpdf(0, 0, s)

The values are right. Prints expected and got, and exits with 1 while one raises.
"""

import math
import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
special, stats = jax.scipy.special, jax.scipy.stats
y = 0.5
asked = {
    "xlogy(2, y)": (lambda y: special.xlogy(jnp.array(2), y), 2.0 / y),
    "xlog1py(2, y)": (lambda y: special.xlog1py(jnp.array(2), y), 2.0 / (1.0 + y)),
    "poch(y, 2)": (lambda y: special.poch(y, 2), 2.0 * y + 1.0),
    "hyp1f1(1, 1, y)": (lambda y: special.hyp1f1(jnp.array(1), 1.0, y), math.exp(y)),
    "hyp2f1(1, 1, 1, y)": (lambda y: special.hyp2f1(jnp.array(1), 1.0, 1.0, y), (1.0 - y) ** -2),
    "gumbel_l.ppf(y)": (stats.gumbel_l.ppf, -1.0 / ((1.0 - y) * math.log(1.0 - y))),
    "gumbel_r.ppf(y)": (stats.gumbel_r.ppf, -1.0 / (y * math.log(y))),
    "gumbel_l.logpdf(0, 0, y)": (lambda y: stats.gumbel_l.logpdf(0.0, 0.0, y), -1.0 / y),
    "gumbel_r.logpdf(0, 0, y)": (lambda y: stats.gumbel_r.logpdf(0.0, 0.0, y), -1.0 / y),
}
wrong = False
print(f"jax {jax.__version__}, at {y}")
for name, (function, expected) in asked.items():
    for mode in (jax.grad, jax.jacfwd):
        try:
            got = mode(function)(y)
        except TypeError as error:
            print(f"{name}, {mode.__name__}: expected {expected:.12f}, TypeError: {str(error)[:60]}")
            wrong = True
        else:
            print(f"{name}, {mode.__name__}: expected {expected:.12f}, got {got:.12f}")
            wrong = wrong or abs(got - expected) > 1e-9
sys.exit(int(wrong))

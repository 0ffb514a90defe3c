"""The gradients of jax.scipy.special.betaln and beta are NaN at negative numbers that are no integers.

By the first argument that of betaln is psi(a) - psi(a + b), with the digamma function psi, and that of beta is
beta times that. The values are right. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import jax
    from jax.scipy.special import beta, betaln, digamma
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for a, b in ((1.5, 2.5), (-1.875, -2.5), (-1.5, -0.25), (1.0, -2.5)):
    of_betaln = float(digamma(a) - digamma(a + b))
    for function, expected in ((betaln, of_betaln), (beta, float(beta(a, b)) * of_betaln)):
        step = 1e-6
        slope = float(function(a + step, b) - function(a - step, b)) / (2.0 * step)
        got = float(jax.grad(function)(a, b))
        holds = math.isclose(got, expected, rel_tol=1e-9)
        wrong |= not holds
        text = f"{function.__name__}({a}, {b}): expected {expected:.9f}, differences {slope:.6f}, got {got:.9f}"
        print(f"{text}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

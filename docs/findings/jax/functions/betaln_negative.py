"""The gradient of jax.scipy.special.betaln is NaN at negative numbers that are no integers; the value is right.

By the first argument it is psi(a) - psi(a + b), with the digamma function psi. Prints expected and got, and
exits with 1 while they differ.
"""

import math
import sys

try:
    import jax
    from jax.scipy.special import betaln, digamma
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for a, b in ((1.5, 2.5), (-1.875, -2.5), (-1.5, -0.25)):
    expected = float(digamma(a) - digamma(a + b))
    step = 1e-6
    slope = float(betaln(a + step, b) - betaln(a - step, b)) / (2.0 * step)
    got = float(jax.grad(betaln)(a, b))
    holds = math.isclose(got, expected, rel_tol=1e-9)
    wrong |= not holds
    text = f"betaln({a}, {b}): expected {expected:.9f}, differences {slope:.6f}, got {got:.9f}"
    print(f"{text}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""The derivative of jax.scipy.special.expn of order 0 is NaN for x up to 1.

    E_0(x) = exp(-x) / x has the slope -exp(-x) (1 / x + 1 / x^2)

The value is right, and so are the derivatives of other orders and those at larger x. Prints expected and got,
and exits with 1 while one is no number.
"""

import math
import sys

import jax

jax.config.update("jax_enable_x64", True)
expn = jax.scipy.special.expn
wrong = False
print(f"jax {jax.__version__}")
for x in (0.5, 1.0, 3.0):
    expected = -math.exp(-x) * (1.0 / x + 1.0 / x**2)
    for mode in (jax.jacfwd, jax.grad):
        got = float(mode(lambda x: expn(0, x))(x))
        print(f"expn(0, {x}), {mode.__name__}: expected {expected:.12f}, got {got:.12f}")
        wrong = wrong or not abs(got - expected) < 1e-9
sys.exit(int(wrong))

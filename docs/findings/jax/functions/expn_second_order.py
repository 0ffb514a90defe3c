"""The second derivative of jax.scipy.special.exp1 and expn raises.

    exp1'(x) = -exp(-x) / x, so exp1''(x) = exp(-x) (x + 1) / x^2; expn(2, x)'' = exp(-x) / x

The first derivative is right. Prints expected and got, and exits with 1 while one raises.
"""

import math
import sys

import jax

jax.config.update("jax_enable_x64", True)
special = jax.scipy.special
x = 0.75
asked = {
    "exp1": (special.exp1, math.exp(-x) * (x + 1.0) / x**2),
    "expn(2, .)": (lambda x: special.expn(2, x), math.exp(-x) / x),
}
first = jax.grad(special.exp1)(x)
print(f"jax {jax.__version__}: exp1 at {x}: expected {-math.exp(-x) / x:.12f}, got {first:.12f}")
wrong = False
for name, (function, expected) in asked.items():
    try:
        got = jax.grad(jax.grad(function))(x)
    except TypeError as error:
        print(f"{name}, second derivative: expected {expected:.12f}, TypeError: {str(error)[:80]}")
        wrong = True
    else:
        print(f"{name}, second derivative: expected {expected:.12f}, got {got:.12f}")
        wrong = wrong or abs(got - expected) > 1e-9
sys.exit(int(wrong))

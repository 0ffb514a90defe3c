"""Reverse mode of jax.scipy.special.spence is NaN between 1 and 2, and both modes are 0 at 1.

    spence'(x) = log(x) / (1 - x), which is -1 at 1

The values are right, and so is forward mode beyond 1. Prints expected and got, and exits with 1 while they
differ.
"""

import math
import sys

import jax

jax.config.update("jax_enable_x64", True)
wrong = False
print(f"jax {jax.__version__}")
for x in (0.5, 1.0, 1.25, 1.5, 2.0, 3.0):
    expected = -1.0 if x == 1.0 else math.log(x) / (1.0 - x)
    for mode in (jax.jacfwd, jax.grad):
        got = float(mode(jax.scipy.special.spence)(x))
        print(f"{mode.__name__} at {x}: expected {expected:.12f}, got {got:.12f}")
        wrong = wrong or not abs(got - expected) < 1e-9
sys.exit(int(wrong))

"""Reverse mode of jax.lax.select_n of one case raises where the choice is a boolean.

    select_n(False, x) = x has the slope 1

The value, forward mode, and a choice by an integer are right. Prints expected and got, and exits with 1 while
it raises.
"""

import sys

import jax
import jax.numpy as jnp

wrong = False
print(f"jax {jax.__version__}")
for which in (jnp.array(0), jnp.array(False)):
    for mode in (jax.jacfwd, jax.grad):
        try:
            got = mode(lambda x, which=which: jax.lax.select_n(which, x))(2.0)
        except IndexError as error:
            print(f"by {which.dtype}, {mode.__name__}: expected 1.0, IndexError: {error}")
            wrong = True
        else:
            print(f"by {which.dtype}, {mode.__name__}: expected 1.0, got {got}")
            wrong = wrong or float(got) != 1.0
sys.exit(int(wrong))

"""Reverse mode of jnp.fft.irfft, irfft2, irfftn and hfft of one entry raises.

    the result has 2 (1 - 1) = 0 entries, so the gradient of their sum is 0

NumPy refuses the call. Prints expected and got, and exits with 1 while it raises.
"""

import sys

import jax
import jax.numpy as jnp

wrong = False
print(f"jax {jax.__version__}")
for name, x in (("irfft", [1.0]), ("hfft", [1.0]), ("irfft2", [[1.0]]), ("irfftn", [[1.0]])):
    function = getattr(jnp.fft, name)
    try:
        got = jax.grad(lambda x, function=function: function(x).sum())(jnp.array(x))
    except ZeroDivisionError as error:
        print(f"{name}: expected 0, ZeroDivisionError: {error}")
        wrong = True
    else:
        print(f"{name}: expected 0, got {got}")
        wrong = wrong or bool(jnp.any(got != 0.0))
sys.exit(int(wrong))

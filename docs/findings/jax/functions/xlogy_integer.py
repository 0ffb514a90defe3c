"""The derivatives of jax.scipy.special.xlogy and xlog1py raise where the first argument is an integer.

    xlogy(2, y) = 2 log(y) has the slope 2 / y, and xlog1py(2, y) = 2 log(1 + y) the slope 2 / (1 + y)

The values are right. Prints expected and got, and exits with 1 while one raises.
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
y = 0.5
wrong = False
print(f"jax {jax.__version__}")
for name, expected in {"xlogy": 2.0 / y, "xlog1py": 2.0 / (1.0 + y)}.items():
    function = getattr(jax.scipy.special, name)
    for mode in (jax.grad, jax.jacfwd):
        try:
            got = mode(lambda y, function=function: function(jnp.array(2), y))(y)
        except TypeError as error:
            print(f"{name}, {mode.__name__}: expected {expected:.12f}, TypeError: {str(error)[:60]}")
            wrong = True
        else:
            print(f"{name}, {mode.__name__}: expected {expected:.12f}, got {got:.12f}")
            wrong = wrong or abs(got - expected) > 1e-12
sys.exit(int(wrong))

"""The derivatives of jax.lax.linalg.lu, jax.scipy.linalg.lu and lu_factor are NaN at a singular matrix whose
leading part is regular.

    A = [[2, 1], [1, 1/2]] = L U with L21 = a21 / a11 and U22 = a22 - a21 a12 / a11 = 0, both smooth in A:
    the slopes of L21 are [[-1/4, 0], [1/2, 0]], those of U22 [[1/4, -1/2], [-1, 1]]

The values are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
a = jnp.array([[2.0, 1.0], [1.0, 0.5]])
asked = {
    "lax.linalg.lu, L21": (lambda a: jax.lax.linalg.lu(a)[0][1, 0], [[-0.25, 0.0], [0.5, 0.0]]),
    "scipy.linalg.lu, L21": (lambda a: jax.scipy.linalg.lu(a)[1][1, 0], [[-0.25, 0.0], [0.5, 0.0]]),
    "scipy.linalg.lu, U22": (lambda a: jax.scipy.linalg.lu(a)[2][1, 1], [[0.25, -0.5], [-1.0, 1.0]]),
    "lu_factor, L21": (lambda a: jax.scipy.linalg.lu_factor(a)[0][1, 0], [[-0.25, 0.0], [0.5, 0.0]]),
}
wrong = False
print(f"jax {jax.__version__}")
for name, (function, expected) in asked.items():
    for mode in (jax.jacfwd, jax.grad):
        got = np.asarray(mode(function)(a))
        print(f"{name}, {mode.__name__}: expected {expected}, got {got.tolist()}")
        wrong = wrong or not np.allclose(got, expected, rtol=0.0, atol=1e-12)
sys.exit(int(wrong))

"""The second derivative of jax.scipy.sparse.linalg.cg, gmres and bicgstab raises where it is zero.

    x = A^-1 b, so the sum of x has the gradient A^-T 1 by b, and the second derivative 0

The first derivative is right, and so is the second one of the sum of squares. Prints expected and got, and
exits with 1 while one raises.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
wrong = False
print(f"jax {jax.__version__}")
for name in ("cg", "gmres", "bicgstab"):
    solver = getattr(jax.scipy.sparse.linalg, name)

    def total(b, solver=solver):
        return jnp.sum(solver(a, b)[0])

    print(f"{name}: expected {np.linalg.solve(a.T, np.ones(2))}, got {jax.grad(total)(b)}")
    try:
        got = jax.grad(lambda b, total=total: jnp.sum(jax.grad(total)(b)))(b)
    except TypeError as error:
        print(f"{name}, second derivative: expected [0. 0.], TypeError: {str(error)[:70]}")
        wrong = True
    else:
        print(f"{name}, second derivative: expected [0. 0.], got {got}")
        wrong = wrong or bool(np.any(np.abs(got) > 1e-9))
sys.exit(int(wrong))

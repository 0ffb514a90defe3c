"""The derivative of jax.scipy.linalg.qr with pivoting=True raises for a stack of matrices.

    A diagonal matrix of positive numbers that fall is its own R up to signs, with no column exchanged

So the sum of the squares of R, which is that of the squares of the entries of A, has the gradient 2 A. The
value is right, and so is the gradient of each matrix alone. It raises under vmap, too. Prints expected and
got, and exits with 1 while it raises.
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
stack = jnp.stack([jnp.diag(jnp.array([5.0, 3.0])), jnp.diag(jnp.array([4.0, 2.0]))])


def squares(a):
    return jnp.sum(jax.scipy.linalg.qr(a, pivoting=True)[1] ** 2)


def mapped(stack):
    return jnp.sum(jax.vmap(squares)(stack))


wrong = False
expected = (2 * stack).ravel().tolist()
print(f"jax {jax.__version__}, value {float(squares(stack))}, expected 54.0")
print(f"one by one: {jax.vmap(jax.grad(squares))(stack).ravel().tolist()}")
for name, derivative, function in (
    ("reverse mode", jax.grad, squares),
    ("forward mode", jax.jacfwd, squares),
    ("reverse mode of vmap", jax.grad, mapped),
):
    try:
        got = derivative(function)(stack).ravel().tolist()
    except Exception as error:
        got = f"{type(error).__name__}: {str(error)[:90]}"
    print(f"{name}: expected {expected}, got {got}")
    right = not isinstance(got, str) and all(abs(a - b) < 1e-9 for a, b in zip(got, expected, strict=True))
    wrong |= not right
sys.exit(int(wrong))

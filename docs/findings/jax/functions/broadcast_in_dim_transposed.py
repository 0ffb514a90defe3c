"""The reverse mode of `jax.lax.broadcast_in_dim` does not undo the order of `broadcast_dimensions`.

With (2, 1, 0) the axes of the result are those of the operand in the other order, and so the gradient of
sum(w * y) is w with its axes in the other order. The entries of w are returned as they lie.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error)
    sys.exit(125)

w = jnp.asarray([[[1.0], [2.0]], [[3.0], [4.0]]])


def f(x):
    return jnp.sum(w * jax.lax.broadcast_in_dim(x, (2, 2, 1), (2, 1, 0)))


x = jnp.asarray([[[0.5, -1.0], [2.0, 0.25]]])
value = float(jnp.sum(w * jnp.transpose(x, (2, 1, 0))))
print(f"value: expected {value}, got {float(f(x))}")
expected = jnp.transpose(w, (2, 1, 0))
wrong = False
for name, derivative in (("reverse", jax.grad(f)), ("forward", jax.jacfwd(f))):
    got = derivative(x)
    holds = bool(jnp.all(got == expected))
    wrong |= not holds
    print(f"{name} mode: expected {expected.tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

"""The derivatives of jax.numpy.unique and of the functions of sets that use it are 0.

unique only sorts where all entries differ, so the slopes of the sum of squares are 2 x; those of a union with and of a difference from other
numbers are the same. With size= they are right. Without it the function takes the numbers out of the tracer, and the tangent is lost;
the documentation says that transformations raise. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(125)

x, y = jnp.array([3.0, 1.0, 2.0]), jnp.array([5.0, 7.0])
every = [6.0, 2.0, 4.0]
cases = {
    "unique, size=3": (lambda x: jnp.unique(x, size=3), every),
    "unique": (jnp.unique, every),
    "unique_values": (jnp.unique_values, every),
    "unique_counts": (lambda x: jnp.unique_counts(x).values, every),
    "unique_inverse": (lambda x: jnp.unique_inverse(x).values, every),
    "unique_all": (lambda x: jnp.unique_all(x).values, every),
    "union1d": (lambda x: jnp.union1d(x, y), every),
    "setdiff1d": (lambda x: jnp.setdiff1d(x, y), every),
    "setxor1d": (lambda x: jnp.setxor1d(x, y), every),
}
wrong = False
for name, (f, expected) in cases.items():
    square = lambda x, f=f: jnp.sum(f(x) ** 2)
    got, along = jax.grad(square)(x), jax.jvp(square, (x,), (jnp.ones(3),))[1]
    holds = np.allclose(got, expected) and np.allclose(along, sum(expected))
    wrong |= not holds
    print(f"{name}: expected {expected}, got {got.tolist()}, along ones {along}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

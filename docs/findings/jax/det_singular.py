"""The derivatives of jnp.linalg.det at exactly singular matrices, from 4 x 4 on: the second is NaN, and the first is 0 where a zero pivot is not the last.

The determinant is a polynomial, with derivatives of every order everywhere; at rank n - 1 the first is not 0. Up to 3 x 3 JAX has closed forms,
which are right. For larger matrices its rule mends the last pivot of the factorization where it is 0. In the third matrix below the
zero pivot is the last but one.
Prints expected and got, and exits with 1 while they differ.
"""

import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def by_permutations(a):
    n = a.shape[0]
    total = 0.0
    for p in itertools.permutations(range(n)):
        sign = (-1) ** sum(p[i] > p[j] for i in range(n) for j in range(i + 1, n))
        term = sign
        for i in range(n):
            term = term * a[i, p[i]]
        total = total + term
    return total


direction = jnp.array([[1.0, -2.0, 0.5, 1.0], [0.25, 1.0, -1.0, 0.5], [2.0, 0.75, -0.5, -1.5], [0.5, -0.25, 1.0, 2.0]])


def second(f, a):
    return np.asarray(jax.grad(lambda x: jnp.sum(jax.grad(f)(x) * direction))(a))


wrong = 0
regular, singular = jnp.diag(jnp.array([1.0, 2.0, 3.0, 4.0])), jnp.diag(jnp.array([1.0, 2.0, 3.0, 0.0]))
rank_three = jnp.array([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 3.0]])
for a in (regular, singular, rank_three):
    for order, of in (("first", lambda f, x: np.asarray(jax.grad(f)(x))), ("second", second)):
        expected, got = of(by_permutations, a), of(jnp.linalg.det, a)
        holds = np.allclose(got, expected)
        wrong += not holds
        print(f"{a.tolist()}: {order} derivative, expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

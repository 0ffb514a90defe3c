"""The second derivative of the second Fresnel integral of JAX is 0 at odd numbers, and so are higher ones.

    C(x), the integral of cos(pi t^2 / 2) from 0 on
    C'' = -pi x sin(pi x^2 / 2), and at 1, 3 and 5 it is -pi x
    C''' = -pi sin(pi x^2 / 2) - (pi x)^2 cos(pi x^2 / 2), and there it is -pi

Beside these numbers, and of S, they are right. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

import jax
from jax.scipy.special import fresnel

jax.config.update("jax_enable_x64", True)


def second(x):
    return -math.pi * x * math.sin(math.pi * x * x / 2)


def third(x):
    return -math.pi * math.sin(math.pi * x * x / 2) - (math.pi * x) ** 2 * math.cos(math.pi * x * x / 2)


def of_c(x):
    return fresnel(x)[1]


wrong = False
print(f"jax {jax.__version__}")
for x in (0.75, 1.0, 3.0, 5.0, -1.0):
    for name, derivative, truth in (
        ("(rev, rev)", jax.grad(jax.grad(of_c)), second),
        ("(rev, fwd)", jax.hessian(of_c), second),
        ("(fwd, rev)", jax.jacrev(jax.jacfwd(of_c)), second),
        ("(fwd, fwd)", jax.jacfwd(jax.jacfwd(of_c)), second),
        ("third order", jax.grad(jax.grad(jax.grad(of_c))), third),
    ):
        expected, got = truth(x), float(derivative(x))
        right = abs(got - expected) <= 1e-9 * abs(expected)
        wrong |= not right
        print(f"C at {x}, {name}: expected {expected:.9f}, got {got:.9f}{'' if right else '   wrong'}")
sys.exit(int(wrong))

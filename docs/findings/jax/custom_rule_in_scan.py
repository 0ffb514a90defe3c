"""The second derivative of a function with a custom rule in `lax.scan`: the rule is forgotten.

r(x) = round(x), whose derivative is said to be 1. The second derivative of r(x)**2 is 2 then, and jax.hessian returns it without a loop. With r as the body of a
scan of one trip it is 0, as if `round` had no rule. Functions of JAX have such rules, too: xlogy(x, 2)**2 at 0 has the second derivative 2 log(2)**2.
Forward over forward mode is right, and so is a function with `custom_vjp`. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import xlogy
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)


@jax.custom_jvp
def rounded(x):
    return jnp.round(x)


rounded.defjvp(lambda primals, tangents: (rounded(primals[0]), tangents[0]))


def in_scan(body):
    return lambda x: jax.lax.scan(lambda acc, _: (body(acc), None), x, None, length=1)[0]


wrong = False
for name, body, x, expected in (
    ("round", rounded, 3.2, 2.0),
    ("xlogy", lambda acc: xlogy(acc, 2.0), 0.0, 2 * math.log(2.0) ** 2),
):
    for where, function in (("alone", body), ("in lax.scan", in_scan(body))):
        got = float(jax.hessian(lambda x, f=function: f(x) ** 2)(x))
        print(f"jax {jax.__version__}: {name} {where}: expected {expected:.7g}, got {got:.7g}")
        wrong = wrong or abs(got - expected) > 1e-9
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The second derivative of mx.cumprod and the third of mx.prod are NaN where a factor is 0.

    x (x - 1/2) x^2 = x^4 - x^3 / 2: at x = 1/2 the derivatives are 1/8, 3/2 and 9.

Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)


def factors(x):
    return mx.stack([x, x - 0.5, x * x])


wrong = False
for name, f in (("prod", lambda x: mx.prod(factors(x))), ("cumprod", lambda x: mx.cumprod(factors(x), axis=0)[2])):
    g = f
    for order, expected in ((1, 0.125), (2, 1.5), (3, 9.0)):
        g = mx.grad(g)
        got = g(mx.array(0.5)).item()
        holds = abs(got - expected) < 1e-5
        print(
            f"mlx {version('mlx')}: {name}, derivative of order {order}: expected {expected}, got {got}{'' if holds else '   wrong'}"
        )
        wrong = wrong or not holds
sys.exit(1 if wrong else 0)

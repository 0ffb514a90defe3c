"""The derivative of order n + 1 of mx.power(x, n), for an integer n >= 0, is NaN at x = 0: the first one of x^0, the second of x^1, the third of x^2.

    All of them are 0. The rule is n x^(n - 1), with 0 times 0^-1.

Prints expected and got, and exits with 1 while they differ.
"""

import sys
from functools import partial

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)


def power(x, n):
    return mx.power(x, n)


wrong = False
for n in range(4):
    g = partial(power, n=n)
    for _ in range(n + 1):
        g = mx.grad(g)
    got = g(mx.array(0.0)).item()
    print(f"mlx {version('mlx')}: x^{n} at 0, derivative of order {n + 1}: expected 0.0, got {got}")
    wrong = wrong or got != 0.0
sys.exit(1 if wrong else 0)

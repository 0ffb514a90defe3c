"""The third derivative of mx.power by its exponent is wrong, and so are derivatives where a float is the condition of mx.where.

    d3/dx3 2^x = log(2)^3 2^x, in every order of forward and reverse mode.

The rule of power by the exponent chooses by where(output, ...), with the output itself as the condition. It is converted to a bool, and that
conversion hands derivatives on as if it were the identity: where(x, x^2, 0) has the second derivative 3 instead of 2, and x int(3 x) the first derivative
(forward mode) 2.5 instead of 1. Prints expected and got, and exits with 1 while they differ.
"""

import itertools
import math
import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)


def derivative(f, mode):
    if mode == "rev":
        return mx.grad(f)
    return lambda x: mx.jvp(f, [x], [mx.array(1.0)])[1][0]


def by_float(x):
    return mx.where(x, x * x, mx.array(0.0))


def by_int(x):
    return (x * 3).astype(mx.int32).astype(mx.float32) * x


cases = [("2^x", lambda x: mx.power(mx.array(2.0), x), order, math.log(2) ** order * math.sqrt(2)) for order in (1, 2, 3)]
cases += [("where(x, x^2, 0)", by_float, 1, 1.0), ("where(x, x^2, 0)", by_float, 2, 2.0), ("x int(3 x)", by_int, 1, 1.0)]
wrong = False
for name, f, order, expected in cases:
    for modes in itertools.product(("rev", "fwd"), repeat=order):
        g = f
        for mode in modes:
            g = derivative(g, mode)
        got = g(mx.array(0.5)).item()
        holds = abs(got - expected) < 1e-5
        print(
            f"mlx {version('mlx')}: {name} at 0.5, {', '.join(modes)}: expected {expected:.6f}, got {got:.6f}{'' if holds else '   wrong'}"
        )
        wrong = wrong or not holds
sys.exit(1 if wrong else 0)

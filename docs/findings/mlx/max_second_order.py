"""The derivative of a forward derivative of mx.max raises: its rule differentiates by positions.

    max(x^2, x) at x = 2 is x^2, with the second derivative 2.

ValueError: "[gather_axis] Cannot calculate JVP with respect to indices". By reverse mode first, it is right. In the same words mx.linalg.solve raises in
every derivative by its matrix. Prints expected and got, and exits with 1 while they differ.
"""

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


def greatest(x):
    return mx.max(mx.stack([x * x, x]))


wrong = False
for modes in (("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd")):
    try:
        got = derivative(derivative(greatest, modes[0]), modes[1])(mx.array(2.0)).item()
    except ValueError as error:
        got = f"ValueError: {error}"
    print(f"mlx {version('mlx')}: max, {', '.join(modes)}: expected 2.0, got {got}")
    wrong = wrong or got != 2.0
sys.exit(1 if wrong else 0)

"""Reverse mode through mx.power and mx.cumprod of complex numbers misses a conjugate.

    Re (1 + iy)^2 = 1 - y^2: -1 at y = 1/2.
    Re (1 + iy)(1 + iz) = 1 - yz: (-1/2, -1/2) at y = z = 1/2.

Forward mode of power is right, and so is reverse mode of the product z * z. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)


def power(y):
    return mx.real(mx.power(1.0 + 1j * y, 2))


def cumprod(y):
    return mx.real(mx.cumprod(1.0 + 1j * y)[1])


wrong = False
for f, x, expected in ((power, 0.5, -1.0), (cumprod, [0.5, 0.5], [-0.5, -0.5])):
    got = mx.grad(f)(mx.array(x)).tolist()
    print(f"mlx {version('mlx')}: {f.__name__}: expected {expected}, got {got}")
    wrong = wrong or got != expected
sys.exit(1 if wrong else 0)

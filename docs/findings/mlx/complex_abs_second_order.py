"""The second derivative of mx.abs of a complex number is 0.

    |x + i| = sqrt(x^2 + 1): the second derivative is (x^2 + 1)^(-3/2), 0.7155418 at x = 1/2.

The first derivative is the sign z / |z|, whose own derivative is taken for 0. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)

got = mx.grad(mx.grad(lambda x: mx.abs(x + 1j)))(mx.array(0.5)).item()
expected = 1.25**-1.5
print(f"mlx {version('mlx')}: expected {expected}, got {got}")
sys.exit(1 if abs(got - expected) > 1e-5 else 0)

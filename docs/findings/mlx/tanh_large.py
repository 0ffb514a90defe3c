"""The second derivative of mx.tanh is NaN from x = 90 on (float32), where cosh overflows.

    d2/dx2 tanh(x) = -2 tanh(x) / cosh(x)^2, which is below the smallest float32 there. The rule divides by cosh^2.

Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)

wrong = False
for at in (10.0, 80.0, 90.0, 100.0):
    got = mx.grad(mx.grad(mx.tanh))(mx.array(at)).item()
    expected = -2 * math.tanh(at) / math.cosh(at) ** 2
    print(f"mlx {version('mlx')}: second derivative of tanh at {at}: expected {expected:.4g}, got {got}")
    wrong = wrong or not abs(got - expected) < 1e-10
sys.exit(1 if wrong else 0)

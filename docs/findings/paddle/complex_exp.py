"""paddle.exp of complex128 numbers is right to seven digits only.

Prints expected and got, and exits with 1 while they differ by more than rounding.
"""

import cmath
import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

z = 0.3 + 0.7j
got = complex(paddle.exp(paddle.to_tensor(np.array(z))).numpy())
expected = cmath.exp(z)
print(f"paddle {paddle.__version__}: expected {expected}, got {got}")
sys.exit(1 if abs(got - expected) > 1e-14 else 0)

"""The gradient of cumprod in PyTensor where an entry is 0: NaN, at a polynomial.

The last entry of cumprod([a, b, c]) is a b c, with the gradient [b c, a c, a b]. The rule divides by the entries. `prod` is right there.
Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")
try:
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
except ImportError as error:
    print(error)
    sys.exit(125)

x = pt.dvector("x")
gradient = pytensor.function([x], pytensor.grad(pt.cumprod(x)[-1], x), mode="FAST_COMPILE")
wrong = False
for a, b, c in ((0.5, 2.0, 3.0), (0.0, 2.0, 3.0), (2.0, 0.0, 3.0)):
    expected, got = np.array([b * c, a * c, a * b]), gradient(np.array([a, b, c]))
    wrong |= not np.allclose(got, expected)
    print(f"pytensor {pytensor.__version__}, x = {[a, b, c]}: expected {expected}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

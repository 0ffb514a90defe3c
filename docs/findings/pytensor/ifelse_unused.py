"""The gradient through pytensor.ifelse.ifelse of several results raises where one of them is not used.

    y, z = ifelse(x > 0, [x x, 3 x], [x, x]): y by x is 1 at x = 1/2.

Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ["PYTENSOR_FLAGS"] = "cxx="
try:
    import pytensor
except ImportError:
    sys.exit(125)
import pytensor.tensor as pt
from pytensor.ifelse import ifelse

x = pt.dscalar("x")
y, _ = ifelse(pt.gt(x, 0), [x * x, 3 * x], [x, x])
try:
    got = pytensor.function([x], pytensor.grad(y, x))(0.5).item()
except AttributeError as error:
    got = f"AttributeError: {error}"
print(f"pytensor {pytensor.__version__}: expected 1.0, got {got}")
sys.exit(0 if got == 1.0 else 1)

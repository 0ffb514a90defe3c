"""The gradient of max over an axis in PyTensor where entries are equal: each of them gets all of it, so that max([x, x]) has the slope 2.

max([x, x]) is x, with the derivative 1; no weighting of the equal entries makes it 2. The elementwise `maximum(x, x)` has 1.
Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")
try:
    import pytensor
    import pytensor.tensor as pt
except ImportError as error:
    print(error)
    sys.exit(125)

x = pt.dscalar("x")
wrong = False
for name, y in (("max", pt.max(pt.stack([x, x]))), ("min", pt.min(pt.stack([x, x]))), ("maximum", pt.maximum(x, x))):
    got = float(pytensor.function([x], pytensor.grad(y, x), mode="FAST_COMPILE")(0.5))
    wrong |= got != 1.0
    print(f"pytensor {pytensor.__version__}, {name}: expected 1.0, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

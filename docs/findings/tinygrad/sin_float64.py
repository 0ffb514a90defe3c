"""tinygrad's sin of float64 is off by 1e-8 and more beyond 30 on the CPU backend, and 0 at 1e300; so are cos, tan and the derivatives of all three.

Numbers whose mantissa has few bits are right. Prints expected, by the platform's functions, and got, and exits with 1 while they differ. Needs clang.
"""

import math
import os
import shutil
import sys

os.environ["DEV"] = "CPU"
try:
    from tinygrad import Tensor, dtypes
except ImportError as error:
    print(error)
    sys.exit(125)
if shutil.which("clang") is None:
    print("tinygrad's CPU backend needs clang")
    sys.exit(125)

wrong = False
for at in (29.1, 97.4653674950001, 8402.195418242247, 1e300):
    x = Tensor([at, 1.0], dtype=dtypes.float64)
    y = x.sin()
    value, slope = y.tolist()[0], y.sum().gradient(x)[0].tolist()[0]
    print(f"sin({at}): expected {math.sin(at)!r}, got {value!r}; its derivative: expected {math.cos(at)!r}, got {slope!r}")
    wrong = wrong or abs(value - math.sin(at)) > 1e-12
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

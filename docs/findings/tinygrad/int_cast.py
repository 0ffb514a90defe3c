"""tinygrad differentiates conversions to an int as if they were the identity, and converts the derivative to an int on its way back.

    f(x) = int(x) x at x = 2.5 is 2 x around it: the derivative is 2. The rule says 2 + int(2.5) = 4.

trunc, which is the same function, has the derivative 0. Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("DEV", "PYTHON")  # which needs no compiler
try:
    from tinygrad import Tensor, dtypes
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, whole in (("cast", lambda x: x.cast(dtypes.int32).cast(dtypes.float32)), ("trunc", Tensor.trunc)):
    x = Tensor([2.5])
    ((got,),) = (g.tolist() for g in (whole(x) * x).sum().gradient(x))
    print(f"{name}(x) x, derivative at 2.5: expected 2.0, got {got}")
    wrong = wrong or got != 2.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

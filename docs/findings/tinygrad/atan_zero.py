"""The derivatives of tinygrad's asin and atan are 0 at 0, where both are 1: asin is sign(x) p(|x|), and the derivatives of sign and of |x| are 0 there.

Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("DEV", "PYTHON")  # which needs no compiler
try:
    from tinygrad import Tensor
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, f in (("asin", Tensor.asin), ("atan", Tensor.atan), ("-acos", lambda x: -x.acos())):
    for at in (1e-6, 0.0):
        x = Tensor([at])
        ((got,),) = (g.tolist() for g in f(x).sum().gradient(x))
        print(f"{name}, derivative at {at}: expected 1.0, got {got}")
        wrong = wrong or abs(got - 1.0) > 1e-4
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

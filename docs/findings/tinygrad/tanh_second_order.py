"""The second derivatives of tinygrad's sigmoid and tanh are NaN at x < -89 and x < -45 in float32: exp(-x) is infinite there, and its derivative meets a 0.

Both are 0 to all digits. Prints expected and got, and exits with 1 while they differ.
"""

import math
import os
import sys

os.environ.setdefault("DEV", "PYTHON")  # which needs no compiler
try:
    from tinygrad import Tensor
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, f, at in (("sigmoid", Tensor.sigmoid, -100.0), ("tanh", Tensor.tanh, -50.0), ("tanh", Tensor.tanh, 50.0)):
    x = Tensor([at])
    y = f(x)
    for order in (1, 2):
        y = y.sum().gradient(x)[0]
        (got,) = y.tolist()
        print(f"{name}, derivative of order {order} at {at}: expected 0, got {got}")
        wrong = wrong or math.isnan(got) or abs(got) > 1e-30
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Derivatives of x ** n by tinygrad are NaN at x = 0 as soon as they are derivatives of a constant twice over: 0 x^-1 is computed.

The second of x ** 0 and the third of x ** 1, where the exponent is a tensor; both are 0. Prints expected and got, and exits with 1 while they differ.
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
for n, order in ((0.0, 2), (1.0, 3)):
    x = Tensor([0.0])
    y = x ** Tensor([n])
    for _ in range(order):
        y = y.sum().gradient(x)[0]
    (got,) = y.tolist()
    print(f"x ** {n}, derivative of order {order} at 0: expected 0.0, got {got}")
    wrong = wrong or got != 0.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The second derivative of tinygrad's prod is 0 where two factors are 0. By these two it is the product of the others.

    f(a, b, c) = a b c, with a = b = x and c = 3: f = 3 x^2, whose second derivative is 6.

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

x = Tensor([0.0])
y = x.cat(x, Tensor([3.0])).prod()
for _ in range(2):
    y = y.sum().gradient(x)[0]
(got,) = y.tolist()
print(f"the second derivative of prod(x, x, 3) at 0: expected 6.0, got {got}")
print("wrong" if got != 6.0 else "right")
sys.exit(1 if got != 6.0 else 0)

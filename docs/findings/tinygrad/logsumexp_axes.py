"""tinygrad's logsumexp along several axes raises unless they are kept, though its documentation has "axis or axes".

log(6 exp(0)) = log(6) for zeros of shape (2, 3). Prints expected and got, and exits with 1 while they differ.
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
for keepdim in (True, False):
    try:
        got = Tensor.zeros(2, 3).logsumexp((0, 1), keepdim).reshape(()).item()
        holds = abs(got - math.log(6.0)) < 1e-6
    except TypeError as error:
        got, holds = f"TypeError: {error}", False
    print(f"logsumexp over both axes, keepdim={keepdim}: expected {math.log(6.0):.6f}, got {got}")
    wrong = wrong or not holds
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

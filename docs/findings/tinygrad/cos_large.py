"""tinygrad's cos, and the derivative of its sin, are sin(pi/2 - x), where pi/2 - x is rounded: at x = 1e6 in float32 they are wrong in the third digit, and sin is right.

Prints expected, by the platform's functions, and got, and exits with 1 while they differ.
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
for at in (1.0, 1e4, 1e6):
    x = Tensor([at])
    for name, expected, got in (
        ("sin", math.sin(at), x.sin()),
        ("its derivative", math.cos(at), x.sin().sum().gradient(x)[0]),
        ("cos", math.cos(at), x.cos()),
    ):
        (number,) = got.tolist()
        print(f"{name} at {at}: expected {expected:.7f}, got {number:.7f}")
        wrong = wrong or abs(number - expected) > 1e-5
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

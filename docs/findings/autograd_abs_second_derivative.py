"""The second derivative of abs in autograd is -inf at tiny numbers: 1e-170 in float64, 1e-25 in float32.

abs(x) is linear on both sides of 0. Its derivative is written x / abs(x), and the rule of the quotient divides by the square of abs(x), which is 0 there.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for dtype, points in ((np.float32, (1.0, 1e-25)), (np.float64, (1.0, 1e-170))):
    for x in points:
        with np.errstate(all="ignore"):
            got = float(grad(grad(anp.abs))(dtype(x)))
        wrong |= got != 0
        print(f"x = {x}, {dtype.__name__}: expected 0.0, got {got}{'' if got == 0 else '   wrong'}")
sys.exit(1 if wrong else 0)

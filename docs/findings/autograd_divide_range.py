"""The derivative of x / y by y in autograd is 0, infinite or NaN where y**2 leaves the range, though the derivative does not.

It is -x / y**2, computed in that order: for y = x = 1e20 in float32 (1e200 in float64) the square is infinite, for 1e-30 (1e-200) it is 0.
(x / y) / y is in range. The second derivative of abs meets it too. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)


def divide(x, y):
    return anp.divide(x, y)


wrong = False
with np.errstate(all="ignore"):
    for dtype, points in ((np.float32, (1e10, 1e20, 1e-30)), (np.float64, (1e100, 1e200, 1e-200))):
        for y in points:
            expected, got = -1 / y, float(grad(divide, 1)(dtype(y), dtype(y)))
            holds = abs(got - expected) <= 1e-5 * abs(expected)
            wrong |= not holds
            print(f"x = y = {y}, {dtype.__name__}: expected {expected}, got {got}{'' if holds else '   wrong'}")
    got = float(grad(grad(anp.abs))(1e-170))
    wrong |= got != 0
    print(f"second derivative of abs at 1e-170: expected 0.0, got {got}{'' if got == 0 else '   wrong'}")
sys.exit(1 if wrong else 0)

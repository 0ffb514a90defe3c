"""The derivative of expm1 in autograd is 0, or right to a few digits only, for negative arguments.

It is exp(x), and computed as expm1(x) + 1, which cancels: from x = -18 in float32 and from -38 in float64 on nothing is left.
Prints expected, by mpmath, and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import mpmath
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for dtype, digits, points in ((np.float32, 1e-5, (-1.0, -10.0, -20.0)), (np.float64, 1e-12, (-1.0, -30.0, -40.0))):
    for x in points:
        expected, got = float(mpmath.exp(x)), float(grad(anp.expm1)(dtype(x)))
        holds = abs(got - expected) <= digits * expected
        wrong |= not holds
        print(f"x = {x}, {dtype.__name__}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

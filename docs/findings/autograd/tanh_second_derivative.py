"""The second derivative of tanh in autograd: 0 from x = 23 (float32) or 179 (float64) on, NaN from 90 or 711 on.

The first derivative is computed as 1 / cosh(x)**2, whose derivative divides by cosh(x)**4: that is infinite long before the result, -2 tanh(x) / cosh(x)**2,
leaves the range. Prints expected, by mpmath, and got, and exits with 1 while they differ.
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

mpmath.mp.dps = 50
wrong = False
for dtype, points in ((np.float32, (20.0, 30.0, 100.0)), (np.float64, (150.0, 200.0, 1000.0))):
    for x in points:
        expected = float(-2 * mpmath.tanh(x) / mpmath.cosh(x) ** 2)
        with np.errstate(all="ignore"):
            got = float(grad(grad(anp.tanh))(dtype(x)))
        holds = abs(got - expected) <= 1e-5 * abs(expected) + np.finfo(dtype).tiny
        wrong |= not holds
        print(f"x = {x}, {dtype.__name__}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""The derivatives of autograd's sinc at 0, rgamma at 0, -1, -2, ... and ive of order 1 at 0 are NaN.

All of them exist: sinc is even, 1 / gamma is entire with the slope (-1)^n n! at -n, and I_1(x) exp(-|x|) is x/2 next to 0. The
rules divide 0 by 0, or infinity by infinity. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import autograd.scipy.special as special
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

cases = {
    "sinc at 0": (anp.sinc, 0.0, 0.0),
    "rgamma at 0": (special.rgamma, 0.0, 1.0),
    "rgamma at -3": (special.rgamma, -3.0, -6.0),
    "ive(1, x) at 0": (lambda x: special.ive(1, x), 0.0, 0.5),
}
wrong = False
for name, (f, x, expected) in cases.items():
    with np.errstate(all="ignore"):
        got = grad(f)(np.float64(x))
    wrong |= not abs(got - expected) < 1e-12
    print(f"{name}: expected {expected}, got {got}")
sys.exit(1 if wrong else 0)

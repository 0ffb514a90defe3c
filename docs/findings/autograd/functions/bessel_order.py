"""The derivatives of autograd.scipy.special's iv, ive and jn by the order are 0.

SciPy's iv, ive and jn (another name of jv) take any real order. Expected is mpmath's derivative. The rules say None, which autograd reads as
0, not as unknown. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.scipy.special as special
    import mpmath
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

cases = {
    "iv(v, 3) at 2": (special.iv, 2.0, 3.0, mpmath.besseli),
    "ive(v, 2) at 1.5": (special.ive, 1.5, 2.0, lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x)),
    "jn(v, 2) at 1": (special.jn, 1.0, 2.0, mpmath.besselj),
}
wrong = False
for name, (f, order, x, truth) in cases.items():
    expected, got = float(mpmath.diff(lambda v: truth(v, x), order)), grad(f, 0)(order, x)
    wrong |= not abs(got - expected) < 1e-9
    print(f"{name}: expected {expected}, got {got}")
sys.exit(1 if wrong else 0)

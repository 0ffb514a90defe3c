"""Derivatives of x / y by y in autograd are 0 or infinite where a power of y leaves the range, though the derivative does not.

The first is computed as -x / y**2, and each order squares the denominator again: the third derivative of 1 / y, -6 / y^4, divides by y^8. In float32 that is 0
from y = 1e-6 down. (x / y) / y stays in range. The second derivative of abs, whose first is written x / abs(x), is met by it too.
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


def reciprocal(y):
    return 1.0 / y


def quotient(x):
    return lambda y: anp.divide(x, y)


wrong = False
for name, f, order, dtype, y, expected in (
    ("1 / y", reciprocal, 3, np.float32, -1e-3, -6e12),
    ("1 / y", reciprocal, 3, np.float32, -1e-6, -6e24),
    ("1 / y", reciprocal, 3, np.float64, -1e-50, -6e200),
    ("x / y, x = 1e20", quotient(np.float32(1e20)), 1, np.float32, 1e20, -1e-20),
    ("x / y, x = 1e200", quotient(np.float64(1e200)), 1, np.float64, 1e200, -1e-200),
    ("abs(y)", anp.abs, 2, np.float32, 1e-25, 0.0),
    ("abs(y)", anp.abs, 2, np.float64, 1e-170, 0.0),
):
    derivative = f
    for _ in range(order):
        derivative = grad(derivative)
    with np.errstate(all="ignore"):
        got = float(derivative(dtype(y)))
    holds = abs(got - expected) <= 1e-5 * abs(expected)
    wrong |= not holds
    print(f"{name}, order {order} at {y}, {dtype.__name__}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

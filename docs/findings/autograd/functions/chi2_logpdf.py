"""The derivatives of autograd.scipy.stats.chi2.logpdf and pdf by x are 0 where the degrees of freedom are no integer.

The logarithm of the density is (df/2 - 1) log x - x/2 and a constant, with the slope (df/2 - 1) / x - 1/2 for every df > 0. The rule
has 0 in its place unless df is an integer. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.scipy.stats as stats
    import mpmath
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

x = 1.5
wrong = False
for df in (3.0, 2.5):
    slope = (df / 2 - 1) / x - 0.5
    density = float(mpmath.mpf(x) ** (df / 2 - 1) * mpmath.exp(-x / 2) / mpmath.mpf(2) ** (df / 2) / mpmath.gamma(df / 2))
    for name, f, expected in (("logpdf", stats.chi2.logpdf, slope), ("pdf", stats.chi2.pdf, slope * density)):
        got = float(grad(f)(np.float64(x), df))
        wrong |= not abs(got - expected) < 1e-12
        print(f"{name}, df {df}: expected {expected}, got {got}")
sys.exit(1 if wrong else 0)

"""The derivatives of autograd's gammainc, betainc and of the distribution functions gamma, chi2 and beta by x are infinite or NaN for large shapes.

They are densities: x^(a-1) exp(-x) / Gamma(a), of chi2 half of it at x / 2 and df / 2, and x^(a-1) (1-x)^(b-1) / B(a, b). The rules compute
the factors one by one, which overflow. Expected is mpmath's. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.scipy.special as special
    import autograd.scipy.stats as stats
    import mpmath
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)


def of_gamma(a, x):
    return float(mpmath.mpf(x) ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a))


of_beta = float(mpmath.mpf(0.5) ** 1198 / mpmath.beta(600, 600))
cases = {
    "gammainc(20, x) at 21": (lambda x: special.gammainc(20.0, x), 21.0, of_gamma(20, 21)),
    "gammainc(150, x) at 165": (lambda x: special.gammainc(150.0, x), 165.0, of_gamma(150, 165)),
    "gammainc(200, x) at 210": (lambda x: special.gammainc(200.0, x), 210.0, of_gamma(200, 210)),
    "gammaincc(200, x) at 210": (lambda x: special.gammaincc(200.0, x), 210.0, -of_gamma(200, 210)),
    "gamma.cdf(x, 200) at 210": (lambda x: stats.gamma.cdf(x, 200.0), 210.0, of_gamma(200, 210)),
    "chi2.cdf(x, 400) at 420": (lambda x: stats.chi2.cdf(x, 400.0), 420.0, of_gamma(200, 210) / 2),
    "betainc(600, 600, x) at 0.5": (lambda x: special.betainc(600.0, 600.0, x), 0.5, of_beta),
    "beta.cdf(x, 600, 600) at 0.5": (lambda x: stats.beta.cdf(x, 600.0, 600.0), 0.5, of_beta),
}
wrong = False
for name, (f, x, expected) in cases.items():
    with np.errstate(all="ignore"):
        got = grad(f)(x)
    wrong |= not abs(got - expected) < 1e-9 * abs(expected)
    print(f"{name}: expected {expected}, got {got}")
sys.exit(1 if wrong else 0)

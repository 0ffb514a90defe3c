"""The derivative of a distribution function outside of the numbers that its distribution takes.

All of a beta distribution lies in [0, 1], all of a gamma and of a chi-squared distribution above 0: below, the distribution
function is 0, above it is 1, and its derivative is 0. The densities, which the derivative should be, are right. Prints
expected and got, and exits with 1 while they differ.
"""

import sys
import warnings

try:
    from autograd import grad
    from autograd.scipy.stats import beta, chi2, gamma
except ImportError as error:
    print(error)
    sys.exit(125)

warnings.simplefilter("ignore")
cases = {
    "beta(2, 3) at 2": (lambda x: beta.cdf(x, 2.0, 3.0), lambda x: beta.pdf(x, 2.0, 3.0), 2.0),
    "beta(2, 3) at -1": (lambda x: beta.cdf(x, 2.0, 3.0), lambda x: beta.pdf(x, 2.0, 3.0), -1.0),
    "beta(1/2, 1/2) at 2": (lambda x: beta.cdf(x, 0.5, 0.5), lambda x: beta.pdf(x, 0.5, 0.5), 2.0),
    "gamma(2.5) at -1": (lambda x: gamma.cdf(x, 2.5), lambda x: gamma.pdf(x, 2.5), -1.0),
    "chi2(3.5) at -1": (lambda x: chi2.cdf(x, 3.5), lambda x: chi2.pdf(x, 3.5), -1.0),
}
cases["beta.pdf(2, 1, b), by b at 1"] = lambda b: beta.pdf(2.0, 1.0, b), lambda b: 0.0 * b, 1.0
wrong = False
for name, (cdf, pdf, x) in cases.items():
    got = grad(cdf)(x)
    wrong |= got != 0.0
    print(f"{name}: {cdf(x)}, the density is {pdf(x)}; derivative: expected 0, got {got}{'' if got == 0.0 else '   wrong'}")
sys.exit(1 if wrong else 0)

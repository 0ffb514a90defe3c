"""torch.polygamma(1, x), and with it the derivative of digamma and the second one of lgamma, has nine right digits in float64.

    The derivative of digamma is the Hurwitz zeta function zeta(2, x).

torch adds terms up to x + 6 and then takes an asymptotic series of four terms. Prints expected and got, and exits with 1 while the relative error is
more than 1e-13.
"""

import sys

import mpmath
import torch

wrong = False
for number in (1.25, 1.5, 3.0):
    x = torch.tensor(number, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(torch.lgamma(x), x, create_graph=True)
    (got,) = torch.autograd.grad(first, x)
    expected = mpmath.zeta(2, number)
    error = float(abs(mpmath.mpf(got.item()) - expected) / expected)
    wrong = wrong or error > 1e-13
    print(f"torch {torch.__version__}: lgamma''({number}) = {got.item()!r}; expected {float(expected)!r}: relative error {error:.1e}")
sys.exit(1 if wrong else 0)

"""Derivatives of torch's celu and hardsigmoid in float64 have the accuracy of float32.

    celu(x, alpha)  = alpha (exp(x / alpha) - 1) for x < 0, with the derivative exp(x / alpha)
    hardsigmoid(x)  = x / 6 + 1/2 for |x| < 3, with the derivative 1/6

The values are right to the last digits; the derivatives are made with 1 / alpha and 1/6 rounded to float32. Prints expected and got, and exits with 1
while the relative error is more than 1e-13.
"""

import math
import sys

import torch
import torch.nn.functional as F

wrong = False
for name, f, at, expected in (
    ("celu, alpha = 0.3", lambda x: F.celu(x, 0.3), -0.5, math.exp(-0.5 / 0.3)),
    ("hardsigmoid", F.hardsigmoid, 0.5, 1.0 / 6.0),
):
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    (got,) = torch.autograd.grad(f(x), x)
    error = abs(got.item() / expected - 1.0)
    wrong = wrong or error > 1e-13
    print(f"torch {torch.__version__}: {name} at {at}: {got.item()!r}; expected {expected!r}: relative error {error:.1e}")
sys.exit(1 if wrong else 0)

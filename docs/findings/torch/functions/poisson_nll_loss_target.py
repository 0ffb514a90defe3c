"""The gradient of poisson_nll_loss with full=True by a target of 0 is NaN.

    loss(x, t) = exp(x) - t x, plus Stirling's term where t > 1: for t < 1 the derivative by t is -x

A count of 0 is an ordinary target. Forward mode is right. Prints expected and got, and exits with 1 while
they differ.
"""

import sys

import torch
from torch.func import grad, jacfwd

x = torch.tensor([0.5, 0.5, 0.5], dtype=torch.float64)
t = torch.tensor([0.0, -1.0, 0.5], dtype=torch.float64)


def loss(t):
    return torch.nn.functional.poisson_nll_loss(x, t, full=True, reduction="sum")


got, forward = grad(loss)(t).tolist(), jacfwd(loss)(t).tolist()
print(f"torch {torch.__version__}: grad {got}, jacfwd {forward}; expected {(-x).tolist()}")
sys.exit(0 if got == (-x).tolist() else 1)

"""Forward-mode derivative of torch.logcumsumexp: what stands before a much larger entry has none.

    The first entry of logcumsumexp([t, 0]) is t, so its derivative is 1, at t = -40 as everywhere.

torch divides by cumsum(exp(x - max(x))) + 1e-13, where the maximum is that of the whole row: before the maximum both are tiny. At moderate entries
the result is wrong in the thirteenth digit. Reverse mode is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch


def f(t):
    return torch.logcumsumexp(torch.stack([t, torch.zeros_like(t)]), 0)[0]


t = torch.tensor(-40.0, dtype=torch.float64)
value, forward = torch.func.jvp(f, (t,), (torch.ones_like(t),))
reverse = torch.func.grad(f)(t)
print(f"torch {torch.__version__}: value {value.item()}, jvp {forward.item()}, grad {reverse.item()}; expected 1")
wrong = abs(forward.item() - 1.0) > 1e-10
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Second derivatives of torch.cumprod where an entry is 0: forward over forward is a wrong number, reverse over forward is NaN.

The sum of cumprod([t, t + 1, t - 1]) is t^3 + t^2 + t, whose second derivative at t = 1 is 8. The third factor is 0 there.
Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

import torch
from torch.func import grad, jvp


def f(t):
    return torch.cumprod(torch.stack([t, t + 1, t - 1]), 0).sum()


def slope(t):
    return jvp(f, (t,), (torch.ones_like(t),))[1]


t = torch.tensor(1.0, dtype=torch.float64)
expected = 8.0
forward = jvp(slope, (t,), (torch.ones_like(t),))[1].item()
reverse = grad(slope)(t).item()
twice = grad(lambda s: grad(f)(s))(t).item()
print(f"torch {torch.__version__}: expected {expected}, forward over forward {forward}, reverse over forward {reverse}, reverse over reverse {twice}")
wrong = any(not math.isclose(got, expected) for got in (forward, reverse))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The gradient of torch.polar by its first argument is 0 where that is 0, and has the other sign below 0.

    polar(r, a) = r cos(a) + i r sin(a), so the derivative of the real part by r is cos(a), whatever r is

The documents say that negative r is computed as described. Forward mode is right. Prints expected and got,
and exits with 1 while they differ.
"""

import math
import sys

import torch

angle = torch.tensor(0.5, dtype=torch.float64)
expected = math.cos(0.5)
wrong = False
for value in (1.0, 0.0, -1.0):
    r = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    (got,) = torch.autograd.grad(torch.polar(r, angle).real, r)
    (forward,) = torch.func.jvp(lambda r: torch.polar(r, angle), (r.detach(),), (torch.ones_like(r),))[1:]
    print(f"r = {value}: expected {expected:.12f}, got {got:.12f}, in forward mode {forward.real:.12f}")
    wrong = wrong or abs(got - expected) > 1e-12
print(f"torch {torch.__version__}")
sys.exit(int(wrong))

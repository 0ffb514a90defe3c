"""The gradient of torch.dist with p = 0 by its second operand raises.

    dist(x, y, 0) counts the entries that differ, so its derivatives are 0 where all differ

Forward mode says 0, and so does torch.cdist with p = 0. Prints expected and got, and exits with 1 while it
raises.
"""

import sys

import torch

x = torch.tensor([0.5, 2.0], dtype=torch.float64)
y = torch.tensor([1.0, 3.0], dtype=torch.float64, requires_grad=True)
value = torch.dist(x, y, 0)
(instead,) = torch.autograd.grad(torch.cdist(x[None], y[None], 0.0).sum(), y)
print(f"torch {torch.__version__}: value {value.item()}; expected [0, 0], cdist {instead.ravel().tolist()}")
try:
    (got,) = torch.autograd.grad(value, y)
except RuntimeError as error:
    print("dist: RuntimeError:", str(error)[:100])
    sys.exit(1)
print("dist:", got.tolist())
sys.exit(1 if got.any() else 0)

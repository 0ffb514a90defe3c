"""The gradient of nll_loss of a vector raises where the target has the shape (1,).

    nll_loss(x, [k]) = -x[k]; its gradient is -1 in place k, and 0 elsewhere

The value and forward mode are right, and a target of shape () has a gradient. cross_entropy is the same.
Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch
from torch.nn import functional

x = torch.tensor([0.25, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
along = torch.tensor([1.0, 3.0, 5.0], dtype=torch.float64)
one, none = torch.tensor([1]), torch.tensor(1)
slope = torch.func.jvp(lambda x: functional.nll_loss(x, one), (x.detach(),), (along,))[1]
(scalar,) = torch.autograd.grad(functional.nll_loss(x, none), x)
print(f"torch {torch.__version__}: value {functional.nll_loss(x, one)}, expected -0.5")
print(f"forward mode {slope}, expected -3; a target of shape (): {scalar.tolist()}")
try:
    (got,) = torch.autograd.grad(functional.nll_loss(x, one), x)
except RuntimeError as error:
    print("a target of shape (1,): expected [0, -1, 0], RuntimeError:", error)
    sys.exit(1)
print("a target of shape (1,): expected [0, -1, 0], got", got.tolist())
sys.exit(int(got.tolist() != [0.0, -1.0, 0.0]))

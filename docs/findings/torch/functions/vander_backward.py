"""The gradient of torch.vander raises.

    The sum of vander(x, 3), with the columns x^2, x and 1, has the gradient 2 x + 1

Forward mode and torch.linalg.vander are right. Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch

x = torch.tensor([0.5, 2.0], dtype=torch.float64)
expected = (2.0 * x + 1.0).tolist()
instead = torch.func.grad(lambda x: torch.linalg.vander(x, N=3).sum())(x).tolist()
print(f"torch {torch.__version__}: expected {expected}, linalg.vander {instead}")
leaf = x.clone().requires_grad_()
try:
    (got,) = torch.autograd.grad(torch.vander(leaf, 3).sum(), leaf)
except RuntimeError as error:
    print("vander: RuntimeError:", str(error)[:100])
    sys.exit(1)
print("vander:", got.tolist())
sys.exit(0 if got.tolist() == expected else 1)

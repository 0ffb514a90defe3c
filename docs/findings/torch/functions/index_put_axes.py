"""The gradient of torch.index_put raises where the values have more axes of length 1 than the places.

x of shape (1, 1), one place by a mask, values of shape (1, 1): the value is right, and so is the same assignment. The
gradient of the sum by the values is 1. Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch

x = torch.ones(1, 1, dtype=torch.float64)
mask = torch.tensor([[True]])
values = torch.full((1, 1), 3.0, dtype=torch.float64, requires_grad=True)
assigned = x.clone()
assigned[mask] = values
print(f"by an assignment: {torch.autograd.grad(assigned.sum(), values)[0].item()}")
result = torch.index_put(x, [mask], values)
print(f"the value: {result.item()}")
try:
    (got,) = torch.autograd.grad(result.sum(), values)
except RuntimeError as error:
    print(f"expected 1, got {error}")
    sys.exit(1)
print(f"expected 1, got {got.item()}")
sys.exit(int(got.item() != 1.0))

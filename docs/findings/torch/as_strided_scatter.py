"""The gradient of torch.as_strided_scatter by its first argument is the complement of the right one.

    as_strided_scatter(x, s, (2,), (1,)) is x with its first two entries replaced by s

The gradient of the sum of its entries by x is therefore 0 where s stands, and 1 elsewhere. Forward mode and
slice_scatter are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
s = torch.tensor([4.0, 5.0], dtype=torch.float64)
y = torch.as_strided_scatter(x, s, (2,), (1,))
got = torch.autograd.grad(y.sum(), x)[0].tolist()
instead = torch.autograd.grad(torch.slice_scatter(x, s, 0, 0, 2).sum(), x)[0].tolist()
expected = [0.0, 0.0, 1.0]
print(f"torch {torch.__version__}: {y.tolist()}, got {got}, slice_scatter {instead}; expected {expected}")
sys.exit(0 if got == expected else 1)

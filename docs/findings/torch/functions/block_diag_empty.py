"""The gradient of torch.block_diag is shifted by a row where an earlier argument is an empty vector.

    block_diag(e, x) of an empty vector e and a number x is [[0], [x]]: e has a row and no column

The sum of the entries times [[1], [2]] is 2 x, so its derivative is 2. Forward mode is right. Prints expected
and got, and exits with 1 while they differ.
"""

import sys

import torch

empty = torch.zeros(0, dtype=torch.float64)
weights = torch.tensor([[1.0], [2.0]], dtype=torch.float64)


def f(x):
    return (torch.block_diag(empty, x) * weights).sum()


x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
(got,) = torch.autograd.grad(f(x), x)
forward = torch.func.jvp(f, (x.detach(),), (torch.ones_like(x),))[1]
print(f"torch {torch.__version__}: value {f(x):.3f} of 2 x at x = 0.5")
print(f"expected 2, got {got:.12f}, in forward mode {forward:.12f}")
sys.exit(int(abs(got - 2.0) > 1e-12))

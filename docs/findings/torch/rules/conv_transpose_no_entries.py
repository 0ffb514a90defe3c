"""A transposed convolution in float32 whose result has no entries: its second derivative raises.

With no entries in the result all derivatives are 0. float64 refuses such a call, float32 returns a result of
shape (2, 2, 0, 0) and a gradient of zeros. Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch

x = torch.ones(2, 2, 1, 2, requires_grad=True)
weight = torch.ones(2, 2, 2, 1, requires_grad=True)
y = torch.conv_transpose2d(x, weight, padding=(1,))
gradient = torch.autograd.grad(y.sum(), (x, weight), create_graph=True)
print(f"torch {torch.__version__}, shape of the result {tuple(y.shape)}, sum of the gradient {sum(g.detach().sum().item() for g in gradient)}")
try:
    second = torch.autograd.grad(sum(g.square().sum() for g in gradient), (x, weight))
    got = sum(g.abs().sum().item() for g in second)
except RuntimeError as error:
    print(f"expected 0.0, RuntimeError: {str(error)[:90]}")
    sys.exit(1)
print(f"expected 0.0, got {got}")
sys.exit(int(got != 0.0))

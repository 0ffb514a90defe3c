"""A second derivative through torch.nn.utils.parametrizations.weight_norm.

The weight is g v / |v|. With v = (3, 4) and g = 5 its first entry is w1 = 5 v1 / |v|, and

    d w1 / d v1 = g (1 / |v| - v1^2 / |v|^3)
    d2 w1 / d v1 d v = g (-3 v1 / |v|^3 + 3 v1^3 / |v|^5, -v2 / |v|^3 + 3 v1^2 v2 / |v|^5)
                     = (-0.2304, 0.0128)

Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.nn.utils.parametrizations import weight_norm

layer = weight_norm(torch.nn.Linear(2, 1, bias=False, dtype=torch.float64))
g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
with torch.no_grad():
    g.fill_(5.0)
    v.copy_(torch.tensor([[3.0, 4.0]]))
w1 = layer.weight[0, 0]
(slope,) = torch.autograd.grad(w1, v, create_graph=True)
(second,) = torch.autograd.grad(slope[0, 0], v)
got, expected = second[0].tolist(), [-0.2304, 0.0128]
print(f"torch {torch.__version__}: first {slope[0].tolist()}; second: got {got}, expected {expected}")
sys.exit(0 if max(abs(a - b) for a, b in zip(got, expected)) < 1e-9 else 1)

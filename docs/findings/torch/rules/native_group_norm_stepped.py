"""torch.native_group_norm reads a bias that is not contiguous as if it were: the value is wrong.

    x = [1, -1] in two channels of one group, eps = 3: mean 0, variance 1, so that y = x / 2 + b. With b every
    second entry of [1, 2, 3], which is [1, 3], y = [1.5, 2.5]

torch.nn.functional.group_norm is right. The derivative of native_group_norm is right for the right value, and
differs from the slopes of what it returns. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

x = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
weight = torch.ones(2, dtype=torch.float64)
bias = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)[::2]
wrong = False
print(f"torch {torch.__version__}")
for name, got in (
    ("nn.functional.group_norm", torch.nn.functional.group_norm(x, 1, weight, bias, 3.0)),
    ("native_group_norm", torch.native_group_norm(x, weight, bias, 1, 2, 1, 1, 3.0)[0]),
):
    print(f"{name}: expected [1.5, 2.5], got {got.flatten().tolist()}")
    wrong = wrong or not torch.allclose(got.flatten(), torch.tensor([1.5, 2.5], dtype=torch.float64))
sys.exit(int(wrong))

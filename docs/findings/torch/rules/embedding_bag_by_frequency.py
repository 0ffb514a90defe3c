"""The gradient of torch.nn.functional.embedding_bag with scale_grad_by_freq divides a row by the count of
another index.

    embedding_bag([0, 0, 1], W, [0], mode="sum", scale_grad_by_freq=True) is 2 W0 + W1

By the documentation the gradient of each row is divided by how often its index is met: that of W0 is 2 / 2,
and that of W1 is 1 / 1, so all entries are 1. With mode "mean" they are divided by the length of the bag as
well. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.nn import functional

wrong = False
print(f"torch {torch.__version__}")
for indices in ([0, 0, 1], [0, 1, 1], [0, 1, 0], [2, 1, 2, 2]):
    for mode, length in (("sum", 1), ("mean", len(indices))):
        weight = torch.ones((3, 2), dtype=torch.float64, requires_grad=True)
        index, offsets = torch.tensor(indices), torch.tensor([0])
        result = functional.embedding_bag(index, weight, offsets, scale_grad_by_freq=True, mode=mode)
        got = torch.autograd.grad(result.sum(), weight)[0].tolist()
        expected = [[float(k in indices) / length] * 2 for k in range(3)]
        right = torch.allclose(torch.tensor(got), torch.tensor(expected))
        print(f"{indices}, {mode}: expected {expected}, got {got}{'' if right else '   wrong'}")
        wrong |= not right
sys.exit(int(wrong))

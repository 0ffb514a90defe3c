"""The gradient of torch's group_norm in float16 is NaN where a graph is made and the entries are close.

    one group of 0 and s: its entries are -u and u, u = (s / 2) / sqrt(s^2 / 4 + eps), eps = 1e-5
    -u + 3 u by the second one is eps / (s^2 / 4 + eps)^(3/2), and the opposite by the first

Without a graph, as by backward(), and in float32 it is right. Prints expected and got, and exits
with 1 while a gradient is not finite, or off by more than a fifth.
"""

import math
import sys

import torch
from torch.nn.functional import group_norm


def loss(x):
    return (group_norm(x, 1) * torch.tensor([[[1.0, 3.0]]], dtype=x.dtype)).sum()


def without_a_graph(x):
    return torch.autograd.grad(loss(x.requires_grad_()), x)[0]


def with_a_graph(x):
    return torch.autograd.grad(loss(x.requires_grad_()), x, create_graph=True)[0].detach()


wrong = False
print(f"torch {torch.__version__}")
for dtype in (torch.float32, torch.float16):
    for size in (0.05, 0.03, 0.01, 0.001):
        x = torch.tensor([[[0.0, size]]], dtype=dtype)
        variance = x[0, 0, 1].double().item() ** 2 / 4
        expected = 1e-5 / (variance + 1e-5) ** 1.5
        for name, gradient in (
            ("without a graph", without_a_graph),
            ("create_graph=True", with_a_graph),
            ("torch.func.grad", torch.func.grad(loss)),
        ):
            got = gradient(x.clone())[0, 0, 1].item()
            right = math.isfinite(got) and abs(got - expected) <= expected / 5
            wrong |= not right
            text = f"{dtype}, s = {size}, {name}: expected {expected:.6g}, got {got:.6g}"
            print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

"""The derivative of a torch while_loop that makes no trip is that of one trip.

The loop acc = x * x from acc = 1.0 while i < 0 leaves acc at 1.0, whatever x is: the derivative is 0. Its backward pass runs the body once.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch._higher_order_ops.while_loop import while_loop


def loop(x, trips):
    return while_loop(lambda i, acc: i < trips, lambda i, acc: (i + 1, x * x), (torch.tensor(0), torch.tensor(1.0, dtype=torch.float64)))[1]


wrong = False
for trips, value, expected in ((0, 1.0, 0.0), (1, 0.25, 1.0), (2, 0.25, 1.0)):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = loop(x, trips)
    (slope,) = torch.autograd.grad(y, x)
    print(f"torch {torch.__version__}: {trips} trips, value {y.item()} (expected {value}), derivative {slope.item()} (expected {expected})")
    wrong |= y.item() != value or slope.item() != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""torch.binary_cross_entropy_with_logits with a target of more entries than the logits: reverse mode raises.

The sum over the targets (1, 0) of log(1 + exp(-x)) and log(1 + exp(x)) has the derivative 2 sigmoid(x) - 1 by the one logit x. The value and forward mode broadcast
and are right. Prints expected and got; exits with 1 while they differ.
"""

import math
import sys

import torch

x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
target = torch.tensor([1.0, 0.0], dtype=torch.float64)


def loss(x):
    return torch.binary_cross_entropy_with_logits(x, target, reduction=2)


expected = 2.0 / (1.0 + math.exp(-0.5)) - 1.0
value = math.log1p(math.exp(-0.5)) + math.log1p(math.exp(0.5))
assert abs(loss(x).item() - value) < 1e-14
forward = torch.func.jvp(loss, (x.detach(),), (torch.ones_like(x),))[1].item()
try:
    got = torch.autograd.grad(loss(x), x)[0].item()
except RuntimeError as error:
    got = f"RuntimeError: {str(error).splitlines()[0]}"
print(f"torch {torch.__version__}: expected {expected}, forward mode {forward}, reverse mode {got}")
wrong = isinstance(got, str) or abs(got - expected) > 1e-14
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

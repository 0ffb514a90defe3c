"""jacfwd of jacfwd of binary_cross_entropy_with_logits raises "ZeroTensors are immutable".

The loss of one logit x with a target t is log(1 + exp(x)) - t x, so that its second derivative is p (1 - p) with
p = 1 / (1 + exp(-x)), whatever t. `hessian`, which is forward over reverse mode, is right, and so is jacfwd of
jacfwd of the formula. Prints expected and got, and exits with 1 while it raises.
"""

import math
import sys

import torch
from torch.func import hessian, jacfwd

x, target = torch.tensor([0.5], dtype=torch.float64), torch.tensor([0.25], dtype=torch.float64)
p = 1 / (1 + math.exp(-0.5))
expected = p * (1 - p)
raised = False


def loss(x):
    return torch.nn.functional.binary_cross_entropy_with_logits(x, target)


def formula(x):
    return (torch.log1p(torch.exp(x)) - target * x).mean()


def difference(x):
    return (3 * x).sub_(x.sin()).sum()


print(f"torch {torch.__version__}")
for name, f, true in (("loss", loss, expected), ("formula", formula, expected), ("3 x - sin x", difference, math.sin(0.5))):
    for how, second in (("hessian", hessian), ("jacfwd of jacfwd", lambda f: jacfwd(jacfwd(f)))):
        try:
            got = second(f)(x).item()
            assert abs(got - true) < 1e-12
        except RuntimeError as error:
            got, raised = f"RuntimeError: {str(error)[:60]}", True
        print(f"{name}, {how}: expected {true:.12g}, got {got}")
sys.exit(int(raised))

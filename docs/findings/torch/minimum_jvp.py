"""Forward-mode derivative of torch.minimum and torch.maximum: a small tangent next to a large one is lost.

    minimum(1e-20 * x, x) is 1e-20 * x for x > 0, so its derivative is 1e-20.

torch computes the tangent as other_t + (self < other) * (self_t - other_t). Where the tangent of the smaller argument is below the
rounding of the other one's, nothing is left of it. Reverse mode is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch


def f(x):
    return torch.minimum(1e-20 * x, x)


x = torch.tensor(1.0, dtype=torch.float64)
value, forward = torch.func.jvp(f, (x,), (torch.ones_like(x),))
reverse = torch.func.grad(f)(x)
print(f"torch {torch.__version__}: value {value.item()}, jvp {forward.item()}, grad {reverse.item()}; expected 1e-20")
wrong = abs(forward.item() - 1e-20) > 1e-30
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The third derivative of torch.prod over an axis is NaN where an entry is 0: reverse mode over forward mode over reverse mode.

The product of two factors has no third derivative but 0; of three, x y z, it is 1 by x, y, z.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.func import grad, jvp


def third(x, direction, weights):
    """The gradient of weights . d/dx of (the derivative along the direction of the gradient)."""

    def second(x):
        return jvp(grad(lambda a: a.prod(0)), (x,), (direction,))[1]

    return grad(lambda a: (second(a) * weights).sum())(x)


cases = (
    ([0.0, -1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 0.0]),
    ([0.0, 2.0, 3.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
)
wrong = False
for numbers in cases:
    x, direction, weights, expected = (torch.tensor(entries, dtype=torch.float64) for entries in numbers)
    got = third(x, direction, weights)
    print(f"torch {torch.__version__}: x = {x.tolist()}: expected {expected.tolist()}, got {got.tolist()}")
    wrong |= not torch.allclose(got, expected)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

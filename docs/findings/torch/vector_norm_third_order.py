"""torch.func.grad over jvp over jvp raises for linalg.vector_norm with ord 3.

The norm of one entry is its absolute value, with third derivative 0. Exits with 1 while it raises.
"""

import sys

import torch
from torch.func import grad, jvp


def norm(x):
    return torch.linalg.vector_norm(x, ord=3)


def along(f):
    return lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]


x = torch.tensor([0.5], dtype=torch.float64)
try:
    got = grad(along(along(norm)))(x).tolist()
    right = abs(got[0]) < 1e-12
except RuntimeError as error:
    got, right = f"RuntimeError: {error}", False
print(f"torch {torch.__version__}: expected [0.0], got {got}")
sys.exit(0 if right else 1)

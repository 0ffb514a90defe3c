"""Reverse mode over forward mode through torch.linalg.solve, det and slogdet: the factorization is taken for a constant.

For 1 x 1 matrices solve(a, b) is b / a: its derivative by a is -b / a^2, and the derivative of that 2 b / a^3. Torch computes the tangent with the LU
factors of a, and differentiates that expression as if they did not depend on a. Reverse over reverse is right.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.func import grad, jvp


def entry(op):
    return lambda x: op(x.reshape(1, 1)).sum()


cases = {  # function of a 1 x 1 matrix, its second derivative at 2
    "linalg.solve(a, 3)": (lambda a: torch.linalg.solve(a, torch.full((1, 1), 3.0, dtype=torch.float64)), 2 * 3.0 / 2.0**3),
    "linalg.slogdet(a).logabsdet": (lambda a: torch.linalg.slogdet(a).logabsdet, -1 / 2.0**2),
}
x, one = torch.tensor(2.0, dtype=torch.float64), torch.ones((), dtype=torch.float64)
wrong = False
print(f"torch {torch.__version__}")
for name, (op, expected) in cases.items():
    f = entry(op)
    got = grad(lambda y: jvp(f, (y,), (one,))[1])(x).item()
    twice = grad(lambda y: grad(f)(y))(x).item()
    print(f"{name}: expected {expected}, reverse over forward {got}, reverse over reverse {twice}")
    wrong = wrong or abs(got - expected) > 1e-12
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

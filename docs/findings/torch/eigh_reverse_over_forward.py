"""Reverse mode over forward mode through torch.linalg.eigh returns NaN where all is finite.

For [[2, x], [x, 5]] the squares of the eigenvectors' entries are smooth in x. Their second derivative, by reverse mode over forward mode, is NaN; reverse over
reverse and forward over forward give the number, which central differences confirm.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import mpmath
import torch
from torch.func import grad, jvp


def f(x):
    two, five = torch.tensor(2.0, dtype=torch.float64), torch.tensor(5.0, dtype=torch.float64)
    _, v = torch.linalg.eigh(torch.stack([torch.stack([two, x]), torch.stack([x, five])]))
    return (v * v)[0, 0]


def exact(x):
    """The same in closed form: cos^2 of the angle of the first eigenvector."""
    return (1 + 3 / mpmath.sqrt(9 + 4 * x * x)) / 2


x, one = torch.tensor(0.5, dtype=torch.float64), torch.ones((), dtype=torch.float64)
expected = float(mpmath.diff(exact, mpmath.mpf("0.5"), 2))
got = grad(lambda y: jvp(f, (y,), (one,))[1])(x).item()
twice = grad(lambda y: grad(f)(y))(x).item()
print(f"torch {torch.__version__}: expected {expected}, reverse over forward {got}, reverse over reverse {twice}")
wrong = not abs(got - expected) <= 1e-9
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

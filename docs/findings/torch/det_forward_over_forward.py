"""Second derivatives of torch.linalg.det by forward mode over forward mode, and by reverse mode over forward mode, are wrong at regular matrices.

det of a 1 x 1 matrix is its entry, so sin(det([[x]])) is sin(x), with the second derivative -sin(x). What is returned is -sin(x) + cos(x) / x: the rule
of forward mode divides by LU factors that it takes for constants. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

import torch
from torch.func import grad, jvp


def f(x):
    return torch.sin(torch.linalg.det(x.reshape(1, 1)))


def slope(x):
    return jvp(f, (x,), (torch.ones_like(x),))[1]


x = torch.tensor(0.5, dtype=torch.float64)
expected = -math.sin(0.5)
answers = {
    "forward over forward": jvp(slope, (x,), (torch.ones_like(x),))[1].item(),
    "reverse over forward": grad(slope)(x).item(),
    "reverse over reverse": grad(grad(f))(x).item(),
}
wrong = False
for name, got in answers.items():
    print(f"torch {torch.__version__}, {name}: expected {expected}, got {got}")
    wrong |= not math.isclose(got, expected, rel_tol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The Hessian of a singular value by torch.linalg is NaN where two others are equal.

    at A = diag(4, 2, 2, 1) the largest one, 4, is simple, and smooth in A: along the entry of row 1, column 2 its
    second derivative is s1 / (s1^2 - s2^2) = 4 / 12

With diag(4, 2, 3, 1) it is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.autograd.functional import hessian

wrong = False
print(f"torch {torch.__version__}")
for entries in ([4.0, 2.0, 3.0, 1.0], [4.0, 2.0, 2.0, 1.0]):
    matrix = torch.diag(torch.tensor(entries, dtype=torch.float64))
    for name, function in (
        ("svdvals(A)[0]", lambda a: torch.linalg.svdvals(a)[0]),
        ("matrix_norm(A, 2)", lambda a: torch.linalg.matrix_norm(a, 2)),
        ("cond(A)", torch.linalg.cond),
    ):
        got = hessian(function, matrix)[0, 1, 0, 1].item()
        print(f"{name}, A = diag({entries}): expected {4.0 / 12.0:.12f}, got {got:.12f}")
        wrong = wrong or not abs(got - 4.0 / 12.0) < 1e-9
sys.exit(int(wrong))

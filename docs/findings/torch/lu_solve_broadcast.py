"""torch.linalg.lu_solve, the value itself, is wrong where factors of shape (k, 1, n, n) are broadcast over right sides of shape (k, m, n, p).

It is right for the first of the k matrices and wrong for the others; with the factors expanded by hand it is right. vmap(jacfwd(...)) of
linalg.det, slogdet and solve calls it so. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

a = torch.tensor([[[0.5, 0.5], [2.0, 0.5]], [[3.0, 1.0], [1.0, 2.0]]], dtype=torch.float64)
b = torch.eye(2, dtype=torch.float64).expand(2, 4, 2, 2)
factors, pivots = torch.linalg.lu_factor(a)
expected = torch.linalg.inv(a)[:, None].expand(2, 4, 2, 2)
got = torch.linalg.lu_solve(factors[:, None], pivots[:, None], b)
by_hand = torch.linalg.lu_solve(factors[:, None].expand(2, 4, 2, 2).contiguous(), pivots[:, None].expand(2, 4, 2).contiguous(), b)
for k in range(2):
    print(f"torch {torch.__version__}, matrix {k}: expected {expected[k, 0].tolist()}, got {got[k, 0].tolist()}, expanded by hand {by_hand[k, 0].tolist()}")
wrong = not torch.allclose(got, expected)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

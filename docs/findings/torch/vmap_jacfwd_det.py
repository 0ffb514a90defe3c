"""torch.func.vmap(torch.func.jacfwd(f)) is wrong for f = linalg.det, slogdet and solve; one matrix alone is right.

The derivative of the determinant of a 2 x 2 matrix [[a, b], [c, d]] is [[d, -c], [-b, a]], and that of log |det| the same over the determinant.
For two matrices at once, vmap over jacfwd is right for the first one and wrong for the second, silently; vmap over jacrev is right for
both. The matrices are nothing special, and may be equal. Two nested vmaps of a jvp, tangents inside and matrices outside, show the same.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.func import jacfwd, jacrev, vmap


def log_det(a):
    return torch.linalg.slogdet(a)[1]


def solved(a):
    return torch.linalg.solve(a, torch.tensor([1.0, 2.0], dtype=a.dtype)).sum()


matrices = torch.tensor([[[0.5, 0.5], [2.0, 0.5]], [[3.0, 1.0], [1.0, 2.0]]], dtype=torch.float64)
(a, b), (c, d) = matrices[:, 0].T, matrices[:, 1].T
slope = torch.stack([torch.stack([d, -c], -1), torch.stack([-b, a], -1)], -2)
det = (a * d - b * c)[:, None, None]
# The sum of the entries of inv(m) v is (d v0 - b v1 - c v0 + a v1) / det, with v = (1, 2).
top = (d - 2 * b - c + 2 * a)[:, None, None]
of_top = torch.tensor([[2.0, -2.0], [-1.0, 1.0]], dtype=torch.float64)
cases = [
    ("det", torch.linalg.det, slope),
    ("slogdet", log_det, slope / det),
    ("solve", solved, of_top / det - top * slope / det**2),
]
wrong = False
for name, f, expected in cases:
    got, reverse = vmap(jacfwd(f))(matrices), vmap(jacrev(f))(matrices)
    assert torch.allclose(reverse, expected, rtol=1e-12), "reverse mode is right"
    print(f"{name}: expected {expected.tolist()}, got {got.tolist()}")
    wrong = wrong or not torch.allclose(got, expected, rtol=1e-12)
print(f"torch {torch.__version__}:", "wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Every derivative of the forward derivative of torch.linalg.householder_product is a wrong number.

    householder_product([[1], [a]], [t]) is the column (1 - t, -t a), whose sum is 1 - t - t a

Along (a, t) = (1, 1) the first derivative is -1 - a - t, and the second one -2. Both derivatives of the
reverse mode's gradient say so. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.func import grad, jvp

ONE = torch.ones((), dtype=torch.float64)


def f(a, t):
    return torch.linalg.householder_product(torch.stack([ONE, a])[:, None], t[None]).sum()


def forward(a, t):
    return jvp(f, (a, t), (ONE, ONE))[1]


def reverse(a, t):
    return sum(grad(f, (0, 1))(a, t))


at = (torch.tensor(0.5, dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64))
print(f"torch {torch.__version__}: first derivative {forward(*at).item()}, expected -2.2")
wrong = False
for name, got in (
    ("(fwd, fwd)", jvp(forward, at, (ONE, ONE))[1]),
    ("(fwd, rev)", sum(grad(forward, (0, 1))(*at))),
    ("(rev, fwd)", jvp(reverse, at, (ONE, ONE))[1]),
    ("(rev, rev)", sum(grad(reverse, (0, 1))(*at))),
):
    print(f"{name}: {got.item()}, expected -2")
    wrong |= abs(got.item() + 2.0) > 1e-12
sys.exit(1 if wrong else 0)

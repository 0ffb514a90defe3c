"""The derivative of torch.linalg.pinv is wrong where rtol or atol cuts singular values off.

    pinv(x, rtol=0.5) of a 2 x 2 matrix whose second singular value is below half the first: v1 u1' / s1

It is smooth while the same values are cut. Expected is its derivative from a singular value decomposition of
40 digits. Prints expected and got in reverse and forward mode, and exits with 1 while they differ.
"""

import sys

import mpmath
import torch

mpmath.mp.dps = 40
X = [[-2.25, -1.875], [-1.125, -0.75]]


def entry(row, column, number):
    """pinv[0, 0] of X with one entry replaced."""
    x = mpmath.matrix(X)
    x[row, column] = number
    u, s, v = mpmath.svd_r(x)  # x = u diag(s) v
    assert s[1] < s[0] / 2
    return v[0, 0] * u[0, 0] / s[0]


expected = [
    float(mpmath.diff(lambda number: entry(row, column, number), X[row][column]))
    for row in range(2)
    for column in range(2)
]
x = torch.tensor(X, dtype=torch.float64)


def f(x):
    return torch.linalg.pinv(x, rtol=0.5)[0, 0]


wrong = False
print(f"torch {torch.__version__}: expected {expected}")
for name, got in (("grad", torch.func.grad(f)(x)), ("jacfwd", torch.func.jacfwd(f)(x))):
    print(f"{name}: {got.ravel().tolist()}")
    wrong |= max(abs(a - b) for a, b in zip(got.ravel().tolist(), expected, strict=True)) > 1e-9
sys.exit(1 if wrong else 0)

"""The derivative of torch.linalg.lstsq is wrong where rcond cuts singular values off.

    lstsq([[1, -0.5], [0.5, -0.5]], b, rcond=0.5) by gelsd: the second singular value is below half the first,
    so the solution is v1 (u1' b) / s1

It is smooth while the same value is cut. Expected is the derivative of the sum of the solution by the matrix
and by b, from a singular value decomposition of 40 digits. Prints expected and got in reverse and forward
mode, and exits with 1 while they differ.
"""

import sys

import mpmath
import torch

mpmath.mp.dps = 40
A = [[1.0, -0.5], [0.5, -0.5]]
B = [-0.5, -0.5]


def total(numbers):
    """The sum of the solution for the four entries of the matrix, then the two of the right side."""
    u, s, v = mpmath.svd_r(mpmath.matrix([numbers[:2], numbers[2:4]]))  # the matrix is u diag(s) v
    assert s[1] < s[0] / 2
    return (v[0, 0] + v[0, 1]) * (u[0, 0] * numbers[4] + u[1, 0] * numbers[5]) / s[0]


def slope(k):
    """The derivative of the sum by the number k."""
    given = [*A[0], *A[1], *B]
    return float(mpmath.diff(lambda number: total([*given[:k], number, *given[k + 1 :]]), given[k]))


def f(a, b):
    return torch.linalg.lstsq(a, b, rcond=0.5, driver="gelsd").solution.sum()


a = torch.tensor(A, dtype=torch.float64)
b = torch.tensor(B, dtype=torch.float64).reshape(2, 1)
expected = [slope(k) for k in range(6)]
wrong = False
print(f"torch {torch.__version__}: expected {expected}")
for name, mode in (("grad", torch.func.grad), ("jacfwd", torch.func.jacfwd)):
    got = [number for part in mode(f, (0, 1))(a, b) for number in part.ravel().tolist()]
    print(f"{name}: {got}")
    wrong |= max(abs(x - y) for x, y in zip(got, expected, strict=True)) > 1e-9
sys.exit(1 if wrong else 0)

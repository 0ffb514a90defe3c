"""Forward mode of torch.cholesky_inverse is a wrong number, and that of torch.cholesky_solve where n factors
of n rows meet one matrix of n right sides. (Three factors of two rows, below, are right.)

    For L = [[1, 0], [t, 1]] the inverse of L L^T is [[1 + t^2, -t], [-t, 1]], so its first entry has the
    slope 2 t, and the first entry of cholesky_solve(I, L) is the same; with 3 t in the place of t it is 18 t

The values are right, and so is reverse mode. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

one, zero = torch.ones((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
unit = torch.eye(2, dtype=torch.float64)


def factor(t):
    return torch.stack((one, zero, t, one)).reshape(2, 2)


def factors(t):
    return torch.stack((factor(t), factor(3.0 * t)))


def three(t):
    return torch.stack((factor(t), factor(3.0 * t), factor(t)))


asked = {
    "cholesky_inverse": (lambda t: torch.cholesky_inverse(factor(t))[0, 0], 2.0),
    "cholesky_solve, first of two": (lambda t: torch.cholesky_solve(unit, factors(t))[0, 0, 0], 2.0),
    "cholesky_solve, second of two": (lambda t: torch.cholesky_solve(unit, factors(t))[1, 0, 0], 18.0),
    "cholesky_solve, second of three": (lambda t: torch.cholesky_solve(unit, three(t))[1, 0, 0], 18.0),
}
t = torch.tensor(0.75, dtype=torch.float64)
print(f"torch {torch.__version__}")
wrong = False
for name, (f, slope) in asked.items():
    value, forward = torch.func.jvp(f, (t,), (one,))
    reverse = torch.func.grad(f)(t)
    expected = slope * 0.75
    print(f"{name}: expected {expected}, in forward mode {forward.item()}, in reverse mode {reverse.item()}")
    wrong = wrong or abs(forward - expected) > 1e-12 or abs(reverse - expected) > 1e-12
sys.exit(int(wrong))

"""The forward derivative of torch.triangular_solve moves with entries that the function does not read.

    triangular_solve(b, A, upper=True) solves U x = b with the upper triangle U of A

The solution does not depend on an entry below the diagonal, and reverse mode says so. Prints expected and got,
and exits with 1 while forward mode has another derivative by that entry than 0.
"""

import sys
import warnings

import torch

warnings.simplefilter("ignore")  # the function is deprecated

A = torch.tensor([[2.0, 1.0], [0.5, 4.0]], dtype=torch.float64)
b = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
below = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)


def solution(A):
    return torch.triangular_solve(b, A, upper=True)[0]


moved = (solution(A + 0.125 * below) - solution(A)).abs().max().item()
_, got = torch.func.jvp(solution, (A,), (below,))
_, instead = torch.func.jvp(lambda A: torch.linalg.solve_triangular(A, b, upper=True), (A,), (below,))
wrong = got.abs().max().item() > 0.0
print(f"torch {torch.__version__}: the solution moves by {moved} with the entry below the diagonal")
print(f"forward derivative by it: {got.ravel().tolist()}; expected [0, 0]")
print(f"linalg.solve_triangular: {instead.ravel().tolist()}")
sys.exit(1 if wrong else 0)

"""Forward mode over forward mode of torch.linalg.lu_solve(left=False) raises for stacks of complex numbers.

    1 x 1 factors a and right sides b: x = b / a, and b + t over a + t is 1 at a = b = 1 for every t, so that the
    second derivative by t is 0

With left=True, of one matrix, and of real numbers it is right. Prints expected and got, and exits with 1 while
it raises.
"""

import sys

import torch
from torch.func import jvp

wrong = False
print(f"torch {torch.__version__}")
for dtype in (torch.float64, torch.complex128):
    for left in (True, False):
        one = torch.ones((1, 1, 1), dtype=dtype)
        pivots = torch.ones((1, 1), dtype=torch.int32)

        def solution(a, b, pivots=pivots, left=left):
            return torch.linalg.lu_solve(a, pivots, b, left=left)

        def along(a, b, one=one, solution=solution):
            return jvp(solution, (a, b), (one, one))[1]

        try:
            got = jvp(along, (one, one), (one, one))[1].item()
        except RuntimeError as error:
            print(f"{dtype}, left={left}: expected 0, RuntimeError: {str(error)[:60]}")
            wrong = True
        else:
            print(f"{dtype}, left={left}: expected 0, got {got}")
            wrong = wrong or got != 0
sys.exit(int(wrong))

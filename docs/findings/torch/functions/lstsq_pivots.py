"""torch.linalg.lstsq on the CPU, where the first column of the matrix is 0: 0, or the solution, by chance.

The column [1, 2, 3] times z comes nearest to [1, 2, 4] at z = 17/14, and of all solutions for [0, c] the shortest is [0, 17/14]. The driver gelsy, which is
the default, takes from an array of pivots which columns stay in front; it is not set to 0. The other drivers are right.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import torch
except ImportError as error:
    print(error)
    sys.exit(125)

A = torch.tensor([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], dtype=torch.float64)
b = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
expected = torch.tensor([[0.0], [17.0 / 14.0]], dtype=torch.float64)
used, wrong = [], 0
for k in range(1000):
    used.append(torch.full((1 + k % 7,), k + 1, dtype=torch.int32))  # memory that is not 0 when it is given back
    del used[:-5]
    wrong += not torch.allclose(torch.linalg.lstsq(A, b).solution, expected)
other = torch.linalg.lstsq(A, b, driver="gelsd").solution
print(f"torch {torch.__version__}: expected {expected.ravel().tolist()}; not so {wrong} times of 1000")
print(f"by gelsd: {other.ravel().tolist()}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

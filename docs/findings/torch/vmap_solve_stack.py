"""torch.func.vmap of torch.linalg.solve of a stack of matrices and one matrix of right sides mixes the examples.

Each example has the stack (I, 2 I) and one column b of right sides, so that its solutions are b and b / 2. Mapped, a
right side meets the matrices of another place of the stack; with a vector as the right side it raises. One call at a
time is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.func import vmap

eye = torch.eye(2, dtype=torch.float64)
stacks = torch.stack([torch.stack([eye, 2 * eye])] * 2)
columns = torch.tensor([[[1.0], [2.0]], [[10.0], [20.0]]], dtype=torch.float64)
wrong = False
for name, right in (("matrix", columns), ("vector", columns[..., 0])):
    expected = torch.stack([torch.linalg.solve(a, b) for a, b in zip(stacks, right)])
    try:
        got = vmap(torch.linalg.solve)(stacks, right)
    except RuntimeError as error:
        wrong = True
        print(f"{name}: expected {expected.flatten().tolist()}, got {error}")
    else:
        wrong |= got.shape != expected.shape or not torch.allclose(got, expected)
        print(f"{name}: expected {expected.flatten().tolist()}, got {got.flatten().tolist()}")
sys.exit(int(wrong))

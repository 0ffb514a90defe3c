"""torch.func.vmap raises for linalg.solve with a shared matrix and for linalg.lstsq with a vector, where one call at a time is right.

solve(a, b) takes one matrix a and a stack of right sides b. Mapped over several such stacks, with a the same for all, it raises; so
does torch.func.jacrev(solve), which maps its backward pass, but jacfwd and autograd do not. It passes where the stack happens to be as long
as what is mapped. lstsq(a, b) takes a matrix and a vector, and stacks of both; mapped over both it raises.
Exits with 1 while one of them raises or is not what single calls give.
"""

import sys

import torch
from torch.func import jacrev, vmap

torch.manual_seed(0)
a = torch.randn(3, 3, dtype=torch.float64) + 3.0 * torch.eye(3, dtype=torch.float64)
stacks = torch.randn(4, 2, 3, 2, dtype=torch.float64)
tall, vectors = torch.randn(5, 4, 3, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)


def least_squares(m, v):
    return torch.linalg.lstsq(m, v).solution


wrong = 0
for name, mapped, expected in (
    ("vmap of solve", lambda: vmap(torch.linalg.solve, in_dims=(None, 0))(a, stacks), torch.stack([torch.linalg.solve(a, b) for b in stacks])),
    ("jacrev of solve", lambda: jacrev(torch.linalg.solve)(a, stacks[0]), torch.autograd.functional.jacobian(lambda m: torch.linalg.solve(m, stacks[0]), a)),
    ("vmap of lstsq", lambda: vmap(least_squares)(tall, vectors), torch.stack([least_squares(m, v) for m, v in zip(tall, vectors)])),
):
    try:
        right = torch.allclose(mapped(), expected)
        print(f"{name}: {'as' if right else 'not what'} single calls say")
    except RuntimeError as error:
        right = False
        print(f"{name}: {error}")
    wrong += not right
sys.exit(1 if wrong else 0)

"""The gradient of torch.narrow_copy with a negative start that reaches the end is 0.

    narrow_copy(x, 0, -1, 1) is the last entry of x, as the documentation of start says

The gradient of its square is therefore 2 x at the last entry. Forward mode and torch.narrow are right. Prints
expected and got, and exits with 1 while they differ.
"""

import sys

import torch

x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
got = torch.func.grad(lambda x: torch.narrow_copy(x, 0, -1, 1).square().sum())(x).tolist()
instead = torch.func.grad(lambda x: torch.narrow(x, 0, -1, 1).square().sum())(x).tolist()
expected = [0.0, 0.0, 6.0]
print(f"torch {torch.__version__}: narrow_copy {got}, narrow {instead}; expected {expected}")
sys.exit(0 if got == expected else 1)

"""The gradient of torch.narrow_copy of the last entry, by a negative start, is 0.

    narrow_copy(x, 0, -1, 1) is the last entry of x, as the documentation of start says

The gradient of its square is therefore 2 x at the last entry. Forward mode and torch.narrow are right. Of the
last two entries, narrow_copy(x, 0, -2, 2), the gradient raises. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import torch



def gradient(x, length):
    return torch.func.grad(lambda x: torch.narrow_copy(x, 0, -length, length).square().sum())(x).tolist()


x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
got = gradient(x, 1)
instead = torch.func.grad(lambda x: torch.narrow(x, 0, -1, 1).square().sum())(x).tolist()
expected = [0.0, 0.0, 6.0]
print(f"torch {torch.__version__}: narrow_copy {got}, narrow {instead}; expected {expected}")
try:
    two = gradient(x, 2)
except RuntimeError as error:
    two = error
print(f"the last two entries: {two}; expected [0.0, 4.0, 6.0]")
sys.exit(0 if got == expected and two == [0.0, 4.0, 6.0] else 1)

"""Forward mode raises where torch.lu_unpack is asked for the permutation alone.

    P of lu_unpack(LU, pivots, unpack_data=False) is constant: the derivative of P x along v is P v

Reverse mode is right. Prints expected and got, and exits with 1 while forward mode raises.
"""

import sys

import torch
from torch.func import grad, jvp

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
v = torch.tensor([[1.0, 0.0], [2.0, 5.0]], dtype=torch.float64)


def permuted(x):
    factors, pivots = torch.linalg.lu_factor(x)
    return torch.lu_unpack(factors, pivots, unpack_data=False)[0] @ x


expected = [[2.0, 5.0], [1.0, 0.0]]
print(f"torch {torch.__version__}: {permuted(x).tolist()}, expected along v {expected}")
print("grad of the sum:", grad(lambda x: permuted(x).sum())(x).tolist(), "expected ones")
try:
    got = jvp(permuted, (x,), (v,))[1].tolist()
except RuntimeError as error:
    print("jvp: RuntimeError:", error)
    sys.exit(1)
print("jvp:", got)
sys.exit(0 if got == expected else 1)

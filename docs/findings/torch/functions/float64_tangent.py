"""torch.func.jvp makes a float64 tangent where a scalar of another dtype meets a Python float.

    1.0 * x of a float32 or bfloat16 scalar x: the derivative has the dtype of x, as forward_ad alone says

The numbers are right, but a matrix product after it raises: it is of tensors of two dtypes then. Prints
expected and got, and exits with 1 while the dtypes differ or the product raises.
"""

import sys

import torch
from torch.func import jacfwd, jvp

wrong = False
for dtype in (torch.float32, torch.bfloat16):
    x = torch.tensor(0.5, dtype=dtype)
    for name, f in (
        ("1.0 * x", lambda x: 1.0 * x),
        ("x + 1.0", lambda x: x + 1.0),
        ("x / 2.0", lambda x: x / 2.0),
    ):
        value, tangent = jvp(f, (x,), (torch.ones_like(x),))
        print(f"{name}: value {value.dtype}, tangent {tangent.dtype}; expected {dtype}")
        wrong |= tangent.dtype != dtype


def mean_through_a_layer(v):
    return torch.nn.functional.linear((v.sum() / 2.0).reshape(1, 1), torch.ones(1, 1))


try:
    print("jacfwd of a layer:", jacfwd(mean_through_a_layer)(torch.ones(2)).ravel().tolist(), "expected 0.5")
except RuntimeError as error:
    print("jacfwd of a layer raises:", error)
    wrong = True
sys.exit(1 if wrong else 0)

"""The gradient of sum, mean, prod and cumprod of a real tensor with a complex dtype raises.

    The real part of sum(x, dtype=complex128) is the sum of x, so its gradient is 1; of mean 1/n; of the
    product of [2, 4] it is [4, 2]; of 2 + 8, the sum of their cumulative products, [5, 2]

Forward mode is right. Prints expected and got, and exits with 1 while one raises.
"""

import sys

import torch

expected = {"sum": [1.0, 1.0], "mean": [0.5, 0.5], "prod": [4.0, 2.0], "cumprod": [5.0, 2.0]}
wrong = False
print(f"torch {torch.__version__}")
for name, gradient in expected.items():
    x = torch.tensor([2.0, 4.0], dtype=torch.float64, requires_grad=True)
    axis = (0,) if name == "cumprod" else ()
    y = getattr(torch, name)(x, *axis, dtype=torch.complex128).sum()
    try:
        (got,) = torch.autograd.grad(y.real, x)
    except RuntimeError as error:
        print(f"{name}: expected {gradient}, RuntimeError: {str(error)[:90]}")
        wrong = True
    else:
        print(f"{name}: expected {gradient}, got {got.tolist()}")
        wrong = wrong or got.tolist() != gradient
sys.exit(int(wrong))

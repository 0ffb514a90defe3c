"""cumprod of complex numbers with a real dtype has wrong derivatives in both modes, and prod a complex one.

`cumprod(x, 0, dtype=float64)` drops the imaginary parts first, as the value shows. So at
x = [0.5 + 1j, 2 + 0.25j] its last entry is Re x0 * Re x1 = 1, and

    the derivatives by Re x0, Im x0, Re x1, Im x1 are 2, 0, 0.5, 0
    of `prod` the second derivative along (1, 1j) twice is that of (0.5 + t) * 2 by t, 0

Prints expected and got, and exits with 1 while one is wrong.
"""

import sys
import warnings

import torch

warnings.simplefilter("ignore")  # imaginary parts are dropped
x = torch.tensor([0.5 + 1j, 2 + 0.25j], dtype=torch.complex128)
units = [torch.tensor(t, dtype=torch.complex128) for t in ([1, 0], [1j, 0], [0, 1], [0, 1j])]
along = torch.tensor([1, 1j], dtype=torch.complex128)


def last(x):
    return torch.cumprod(x, 0, dtype=torch.float64)[-1]


def product(x):
    return torch.prod(x, dtype=torch.float64)


def slope(f, x, t):
    return torch.func.jvp(f, (x,), (t,))[1]


expected = [2.0, 0.0, 0.5, 0.0]
gradient = torch.func.grad(last)(x)
reverse = [part for z in gradient.tolist() for part in (z.real, z.imag)]
forward = [float(slope(last, x, t)) for t in units]
second = complex(slope(lambda x: slope(product, x, along), x, along))
print(f"torch {torch.__version__}, value {float(last(x))}")
print(f"cumprod, reverse mode: expected {expected}, got {reverse}")
print(f"cumprod, forward mode: expected {expected}, got {forward}")
print(f"prod, second derivative: expected 0.0, got {second}")
right = all(abs(a - b) < 1e-9 for got in (reverse, forward) for a, b in zip(expected, got, strict=True))
sys.exit(int(not right or abs(second) > 1e-9))

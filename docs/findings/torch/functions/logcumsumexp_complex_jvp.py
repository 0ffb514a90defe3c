"""The forward derivative of torch.logcumsumexp of complex numbers is too small, or NaN.

    logcumsumexp of a single entry is that entry, so its derivative is 1 everywhere

torch divides exp(x) * tangent by exp(x) + 1e-13: at -30 exp(x) is that small, and from 710 on (89 in
complex64) it overflows. Reverse mode is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

wrong = False
for number in (-25.0, -30.0, -40.0, 0.0, 700.0, 720.0):
    x = torch.tensor([complex(number, 0.5)], dtype=torch.complex128)
    value, got = torch.func.jvp(lambda x: torch.logcumsumexp(x, 0), (x,), (torch.ones_like(x),))
    leaf = x.clone().requires_grad_()
    (reverse,) = torch.autograd.grad(torch.logcumsumexp(leaf, 0).real.sum(), leaf)
    print(f"at {x.item()}: value {value.item()}, jvp {got.item()}, grad {reverse.item()}; expected 1")
    wrong |= not abs(got.item() - 1.0) < 1e-6
print(f"torch {torch.__version__}:", "wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""torch.linalg.svd of a complex matrix that is not small: the gradient through the vectors is a wrong number, in complex64 from entries of 1e4 on.

U V^H, the unitary factor of the polar decomposition, does not change when the matrix is multiplied by a positive number, so a times its derivative by x
is the same for all a, where the matrix is x + i a N. It is compared with differences of the factor at a = 1, in complex128, and with forward mode, which
is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import torch
except ImportError as error:
    print(error)
    sys.exit(125)

N = torch.tensor([[1.0, 0.25], [-0.5, 1.5]], dtype=torch.float64)


def f(x, a):
    u, _, vh = torch.linalg.svd(torch.complex(x.expand(2, 2), (a * N).to(x.dtype)))
    return torch.sum((u @ vh).imag)


def at(a, dtype):
    return torch.tensor(0.25 * a, dtype=dtype)


h, one = 1e-3, at(1.0, torch.float64)
coarse, fine = ((f(one + step, 1.0) - f(one - step, 1.0)) / (2 * step) for step in (2 * h, h))
expected = float(fine + (fine - coarse) / 3)
wrong = False
for dtype, a in ((torch.float32, 1.0), (torch.float32, 1e4), (torch.float32, 1e5), (torch.float64, 1e8)):
    x = at(a, dtype).requires_grad_()
    got = a * float(torch.autograd.grad(f(x, a), x)[0])
    forward = a * float(torch.func.jvp(lambda x, a=a: f(x, a), (at(a, dtype),), (torch.ones((), dtype=dtype),))[1])
    wrong |= abs(got - expected) > 1e-2
    print(f"{dtype}, a = {a:.0e}: expected {expected:.6f}, got {got:.6f}, forward mode {forward:.6f}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

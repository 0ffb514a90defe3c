"""Reverse mode over forward mode through torch.linalg.eigh and eig of a complex matrix: NaN by torch.func, an error by autograd.grad over forward_ad.

The matrix is [[2, z], [conj(z), 5]], z = (0.5 - 0.5i) + s (1 + i). With r = |z|^2 = 0.5 + 2 s^2 the squared modulus of the first entry of the
first eigenvector is (1 + 3 / sqrt(9 + 4 r)) / 2, whatever the phases of the vectors are. The error says that it depends on them.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import mpmath
import torch
import torch.autograd.forward_ad as forward_ad
from torch.func import grad, jvp

base = torch.tensor([[2.0, 0.5 - 0.5j], [0.5 + 0.5j, 5.0]], dtype=torch.complex128)
step = torch.tensor([[0.0, 1.0 + 1.0j], [1.0 - 1.0j, 0.0]], dtype=torch.complex128)
expected = float(mpmath.diff(lambda s: (1 + 3 / mpmath.sqrt(9 + 4 * (0.5 + 2 * s * s))) / 2, 0, 2))
one = torch.ones((), dtype=torch.float64)


def modulus(op):
    def f(s):
        w, v = op(base + s * step)
        return (v.abs() ** 2)[0, w.real.argmin()]

    return f


def by_forward_ad(f):
    s = torch.zeros((), dtype=torch.float64, requires_grad=True)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(s, one))).tangent
        return torch.autograd.grad(tangent, s)[0].item()


wrong = False
for op in (torch.linalg.eigh, torch.linalg.eig):
    f = modulus(op)
    s = torch.zeros((), dtype=torch.float64)
    ways = {
        "torch.func": lambda: grad(lambda t: jvp(f, (t,), (one,))[1])(s).item(),
        "autograd.grad over forward_ad": lambda: by_forward_ad(f),
        "reverse over reverse": lambda: grad(grad(f))(s).item(),
    }
    for name, way in ways.items():
        try:
            got = way()
            right = abs(got - expected) < 1e-9
        except RuntimeError as error:
            got, right = f"RuntimeError: {str(error)[:150]}", False
        print(f"torch {torch.__version__}, {op.__name__}, {name}: expected {expected}, got {got}")
        wrong |= not right
sys.exit(1 if wrong else 0)

"""The second derivative of torch.sinc at 0 is 0 or NaN, and next to it the first one cancels, too.

    sin(pi x) / (pi x) = 1 - pi^2 x^2 / 6 + pi^4 x^4 / 120 - ...

Expected is the sum of its first terms. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

import torch
from torch.func import grad, jacfwd, jacrev

SECOND = {
    "(rev, rev)": lambda f: grad(grad(f)),
    "(rev, fwd)": lambda f: jacfwd(grad(f)),
    "(fwd, rev)": lambda f: jacrev(jacfwd(f)),
    "(fwd, fwd)": lambda f: jacfwd(jacfwd(f)),
}
FIRST = {"(rev)": grad, "(fwd)": jacfwd}


def first(x):
    return -(math.pi**2) * x / 3 + math.pi**4 * x**3 / 30 - math.pi**6 * x**5 / 840


def second(x):
    return -(math.pi**2) / 3 + math.pi**4 * x**2 / 10 - math.pi**6 * x**4 / 168


wrong = False
print(f"torch {torch.__version__}")
for dtype, points in ((torch.float64, (1e-2, 1e-8, 1e-9, 0.0)), (torch.float32, (1e-2, 1e-4, 1e-5, 0.0))):
    for modes, truth in ((FIRST, first), (SECOND, second)):
        for x in (torch.tensor(point, dtype=dtype) for point in points):
            expected = truth(x.item())
            for name, mode in modes.items():
                got = mode(torch.sinc)(x).item()
                right = abs(got - expected) <= 1e-2 * abs(expected)
                wrong |= not right
                text = f"{dtype}, {x.item():.3g}, {name}: expected {expected:.9g}, got {got:.9g}"
                print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

"""Derivatives of torch.nn.functional.gelu(x, approximate="tanh") for large x: the second one is off, the third one NaN.

The function is x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3). Prints expected and got, and exits with 1
while they differ by more than 1e-6 of the expected or than 1e-300.
"""

import sys

try:
    import mpmath
    import torch
    from torch.func import grad, jacfwd
except ImportError as error:
    print(error)
    sys.exit(125)

mpmath.mp.dps = 300


def exact(x):
    u = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)
    return x / (1 + mpmath.exp(-2 * u))


def f(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


second = grad(grad(f))
derivatives = {"(rev, rev)": (2, second), "(rev, rev, rev)": (3, grad(second)), "(rev, rev, fwd)": (3, jacfwd(second))}
wrong = False
for x in (5.0, 10.0, 20.0, 100.0, -100.0):
    for name, (order, derivative) in derivatives.items():
        expected = float(mpmath.diff(exact, x, order))
        got = derivative(torch.tensor(x, dtype=torch.float64)).item()
        holds = abs(got - expected) <= max(1e-6 * abs(expected), 1e-300)
        wrong |= not holds
        print(f"x = {x}, {name}: expected {expected:.7g}, got {got:.7g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

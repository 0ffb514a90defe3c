"""The second derivative of torch.nn.functional.binary_cross_entropy loses its digits as the probability falls.

At the target 1 the loss is -log(x), its second derivative 1 / x^2. Prints expected and got, and exits with 1 while they
differ by more than 1e-9 of it.
"""

import sys

import torch
from torch.func import grad, hessian

wrong = False
for x in (0.25, 1e-3, 1e-6, 1e-9, 1e-12):
    point = torch.tensor(x, dtype=torch.float64)

    def loss(p):
        return torch.nn.functional.binary_cross_entropy(p, torch.ones_like(p))

    for name, mode in (("(rev, rev)", lambda f: grad(grad(f))), ("(rev, fwd)", hessian)):
        expected, got = x**-2, mode(loss)(point).item()
        holds = abs(got / expected - 1) < 1e-9
        wrong |= not holds
        print(f"x = {x}, {name}: expected {expected:.12g}, got {got:.12g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

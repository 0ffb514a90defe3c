"""Second derivatives of 0 ** x are NaN.

    0 ** x is 0 for every x > 0, and so are all its derivatives

Reverse mode of the first derivative is NaN, forward mode is 0. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import torch
from torch.func import grad, jvp

x = torch.tensor(3.0, dtype=torch.float64)
one = torch.ones_like(x)
wrong = False
for name, f in (("pow", lambda x: torch.pow(0.0, x)), ("float_power", lambda x: torch.float_power(0.0, x))):
    first = grad(f)
    for modes, got in (
        ("(rev, rev)", grad(first)(x)),
        ("(fwd, rev)", grad(lambda x, f=f: jvp(f, (x,), (one,))[1])(x)),
        ("(rev, fwd)", jvp(first, (x,), (one,))[1]),
    ):
        print(f"torch {torch.__version__}: {name}(0, x) at 3, {modes}: {got.item()}, expected 0")
        wrong |= not got.item() == 0.0
sys.exit(1 if wrong else 0)

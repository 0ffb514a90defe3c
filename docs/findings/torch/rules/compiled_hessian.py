"""torch.autograd.functional.hessian of a function compiled by torch.compile is 0.

    the second derivative of sin is -sin, that of x * x is 2

torch.compile has no second derivatives, and says so where torch.autograd.grad asks twice, and here of exp
(RuntimeError: "does not currently support double backward"). Prints expected and got, and exits with 1 while a
number is wrong.
"""

import math
import sys

import torch
from torch.autograd.functional import hessian

x = torch.tensor(1.0, dtype=torch.float64)
wrong = False
print(f"torch {torch.__version__}")
for name, function, expected in (
    ("sin", torch.sin, -math.sin(1.0)),
    ("x * x", lambda x: x * x, 2.0),
    ("exp", torch.exp, math.e),
):
    for way, asked in (("eager", function), ("compiled", torch.compile(function))):
        try:
            got = hessian(asked, x).item()
        except RuntimeError as error:
            print(f"{name}, {way}: expected {expected:.9f}, RuntimeError: {error}")
        else:
            print(f"{name}, {way}: expected {expected:.9f}, got {got:.9f}")
            wrong = wrong or abs(got - expected) > 1e-9
sys.exit(int(wrong))

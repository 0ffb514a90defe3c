"""The derivative of the sigmoid in PyTorch loses its digits as x grows, and is 0 long before it leaves the range.

It is computed as y (1 - y), and y rounds to 1; exp(-x) / (1 + exp(-x))^2 keeps all digits, and that at -x is right.
Prints expected and got, and exits with 1 while they differ by more than a thousandth.
"""

import math
import sys

import torch
from torch.func import grad

wrong = False
for x in (-30.0, 5.0, 30.0, 40.0, 100.0):
    expected = math.exp(-abs(x)) / (1 + math.exp(-abs(x))) ** 2
    got = grad(torch.sigmoid)(torch.tensor(x, dtype=torch.float64)).item()
    holds = abs(got - expected) <= 1e-3 * expected
    wrong |= not holds
    print(f"x = {x}: expected {expected:.9g}, got {got:.9g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

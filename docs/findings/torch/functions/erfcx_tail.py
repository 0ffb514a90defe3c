"""The derivatives of torch.special.erfcx lose their digits as x grows, in float32 all of them.

    erfcx(x) = exp(x^2) erfc(x) has the slope d = 2 x erfcx(x) - 2 / sqrt(pi), about -1 / (sqrt(pi) x^2),
    and the second derivative 2 erfcx(x) + 2 x d

Expected are mpmath's at 60 digits. Prints expected and got, and exits with 1 while one is off by more than
half the digits of its type.
"""

import sys

import mpmath
import torch

mpmath.mp.dps = 60


def slopes(x):
    value = mpmath.exp(x * x) * mpmath.erfc(x)
    d = 2 * x * value - 2 / mpmath.sqrt(mpmath.pi)
    return d, 2 * value + 2 * x * d


wrong = False
print(f"torch {torch.__version__}")
for dtype, points in ((torch.float32, (5.0, 50.0, 1e3, 1e4)), (torch.float64, (5.0, 1e3, 1e4, 1e6))):
    allowed = torch.finfo(dtype).eps ** 0.5
    for point in points:
        x = torch.tensor(point, dtype=dtype, requires_grad=True)
        y = torch.special.erfcx(x)
        for order, expected in enumerate(map(float, slopes(mpmath.mpf(point))), 1):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
            off = abs(y.item() / expected - 1)
            text = f"{dtype}, {point:g}, order {order}: expected {expected:.9g}, got {y.item():.9g}"
            print(f"{text}{'' if off <= allowed else f'   wrong by {off:.1e}'}")
            wrong |= not off <= allowed
sys.exit(int(wrong))

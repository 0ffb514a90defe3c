"""The derivatives of torch.special.log_ndtr lose their digits as x falls, in float32 all of them.

    log_ndtr(x) = log(Phi(x)) has the slope g = exp(-x^2/2) / (sqrt(2 pi) Phi(x)), about -x,
    and the second derivative -g (x + g), about -1

Expected are mpmath's at 60 digits. Prints expected and got, and exits with 1 while one is off by more than
half the digits of its type.
"""

import sys

import mpmath
import torch

mpmath.mp.dps = 60


def slopes(x):
    g = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi) / (mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
    return g, -g * (x + g)


wrong = False
print(f"torch {torch.__version__}")
for dtype, points in (
    (torch.float32, (-5.0, -50.0, -100.0, -1e3, -1e4)),
    (torch.float64, (-5.0, -100.0, -1e4, -1e5)),
):
    allowed = torch.finfo(dtype).eps ** 0.5
    for point in points:
        x = torch.tensor(point, dtype=dtype, requires_grad=True)
        y = torch.special.log_ndtr(x)
        for order, expected in enumerate(map(float, slopes(mpmath.mpf(point))), 1):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
            off = abs(y.item() / expected - 1)
            text = f"{dtype}, {point:g}, order {order}: expected {expected:.9g}, got {y.item():.9g}"
            print(f"{text}{'' if off <= allowed else f'   wrong by {off:.1e}'}")
            wrong |= not off <= allowed
sys.exit(int(wrong))

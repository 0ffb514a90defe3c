"""Second derivatives of torch's scan take what the first pass has saved for constants.

    x * x * x by a scan of three products: the derivatives at 1/2 are 3/4, 3 and 6
    a step of tanh, c = tanh(c x + 1), three times from 1: by mpmath
    sin(sin(sin(x))), where the scan starts from x

The first derivatives are right, and so are all of a loop of Python. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import mpmath
import torch

try:
    from torch._higher_order_ops.scan import scan
except ImportError as error:
    print(error)
    sys.exit(125)

mpmath.mp.dps = 60
one, trips = torch.ones((), dtype=torch.float64), torch.ones(3, dtype=torch.float64)


def by_scan(step, start):
    return lambda x: scan(lambda c, t: (step(c, x, t), ()), start(x), trips)[0]


def exactly(step, start):
    def function(x):
        c = start(x)
        for _ in range(3):
            c = step(c, x)
        return c

    return function


def derivative(function, order):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = function(x)
    for k in range(order):
        (y,) = torch.autograd.grad(y, x, create_graph=k + 1 < order)
    return y.item()


def from_one(x):
    return one.clone() if isinstance(x, torch.Tensor) else mpmath.mpf(1)


wrong = False
print(f"torch {torch.__version__}")
for name, function, exact in (
    ("x * x * x", by_scan(lambda c, x, t: c * x, from_one), exactly(lambda c, x: c * x, from_one)),
    (
        "tanh",
        by_scan(lambda c, x, t: torch.tanh(c * x + t), from_one),
        exactly(lambda c, x: mpmath.tanh(c * x + 1), from_one),
    ),
    (
        "sin(sin(sin(x)))",
        by_scan(lambda c, x, t: torch.sin(c), lambda x: x.clone()),
        exactly(lambda c, x: mpmath.sin(c), lambda x: x),
    ),
):
    for order in (1, 2, 3):
        expected = float(mpmath.diff(exact, mpmath.mpf(0.5), order))
        try:
            got = derivative(function, order)
        except RuntimeError as error:
            got = str(error).splitlines()[0]
        right = isinstance(got, float) and abs(got - expected) <= 1e-9
        wrong |= not right
        print(f"{name}, order {order}: expected {expected:.9f}, got {got}{'' if right else '   wrong'}")
sys.exit(int(wrong))

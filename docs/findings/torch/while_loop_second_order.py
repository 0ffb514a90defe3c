"""Second derivatives of torch's while_loop take the carries of all trips but the first for constants.

    f = sin(sin(sin(x))) by three trips that start from x; f^2 at 1/2, by mpmath
    x^4 by three products that start from x: 12 x^2 = 3
    1 * x * x * x, which starts from 0 x + 1: 6 x = 3

The first derivatives are right, and so are all of a loop of Python. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import mpmath
import torch

try:
    from torch._higher_order_ops.while_loop import while_loop
except ImportError as error:
    print(error)
    sys.exit(125)

mpmath.mp.dps = 60


def three_trips(step, start):
    def function(x):
        def body(i, c):
            return i + 1, step(c, x)

        return while_loop(lambda i, c: i < 3, body, (torch.tensor(0), start(x)))[1]

    return function


thrice_sin = three_trips(lambda c, x: torch.sin(c), lambda x: x.clone())
power = three_trips(lambda c, x: c * x, lambda x: x.clone())
product = three_trips(lambda c, x: c * x, lambda x: 0 * x + 1)


def exact(x):
    return mpmath.sin(mpmath.sin(mpmath.sin(x))) ** 2


wrong = False
print(f"torch {torch.__version__}")
for name, function, truths in (
    (
        "sin(sin(sin(x)))^2",
        lambda x: thrice_sin(x) ** 2,
        [mpmath.diff(exact, mpmath.mpf(0.5), k) for k in (1, 2)],
    ),
    ("x^4", power, [0.5, 3]),
    ("x^3", product, [0.75, 3]),
):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = function(x)
    for order, truth in enumerate(truths, 1):
        (y,) = torch.autograd.grad(y, x, create_graph=order == 1)
        right = abs(y.item() - float(truth)) <= 1e-9
        wrong |= not right
        text = f"{name}, order {order}: expected {float(truth):.9f}, got {y.item():.9f}"
        print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

"""A derivative of torch's scan raises where a step returns integers or booleans.

    c, k = c x, k + 1 three times from 1 and 0: c is x * x * x, and 3 x^2 = 3/4 at 1/2
    c = c x, and c > 1/4 is collected: the same
    two scans, one in the other, over integers, two trips each: x^4, and 4 x^3 = 1/2
    the second derivative of a scan over integers, 6 x = 3: the pass back returns zeros for these

The values are right. Prints expected and got, and exits with 1 while a call raises or a number is wrong.
"""

import sys

import torch

try:
    from torch._higher_order_ops.scan import scan
except ImportError as error:
    print(error)
    sys.exit(125)

one = torch.ones((), dtype=torch.float64)
floats = torch.zeros(3, dtype=torch.float64)


def counted(x):
    return scan(lambda c, _: ((c[0] * x, c[1] + 1), ()), (one, torch.tensor(0)), floats)[0][0]


def collected(x):
    return scan(lambda c, _: (c * x, c > 0.25), one, floats)[0]


def nested(x):
    def outer(c, _):
        return scan(lambda b, _: (b * x, ()), c.clone(), torch.arange(2))[0].clone(), ()

    return scan(outer, one, torch.arange(2))[0]


def over_integers(x):
    return scan(lambda c, _: (c * x, ()), one, torch.arange(3))[0]


wrong = False
print(f"torch {torch.__version__}")
for name, function, order, expected in (
    ("an integer is carried", counted, 1, 0.75),
    ("booleans are collected", collected, 1, 0.75),
    ("a scan over integers in another", nested, 1, 0.5),
    ("a scan over integers", over_integers, 1, 0.75),
    ("a scan over integers, second derivative", over_integers, 2, 3.0),
):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    try:
        y = function(x)
        for k in range(order):
            (y,) = torch.autograd.grad(y, x, create_graph=k + 1 < order)
        got = y.item()
    except (AssertionError, RuntimeError) as error:
        text = str(error)
        got = text[max(text.find("outs_to_grad"), 0) :].splitlines()[0]
    right = got == expected
    wrong |= not right
    print(f"{name}: expected {expected}, got {got}{'' if right else '   wrong'}")
sys.exit(int(wrong))

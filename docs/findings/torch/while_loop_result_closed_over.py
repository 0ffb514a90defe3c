"""torch's while_loop in another one raises where a loop or a branch reads its differentiated result.

    b = a x x by an inner loop, then a = b + b x + b x by a second one that reads b; two rounds from a = x
    one round of a program is (x^2 + 2 x^3) a, so a = x (x^2 + 2 x^3)^2

The outer rounds are a while_loop, too, and so the inner ones are traced. Without a gradient it is right, and
so it is where b is cloned. Prints expected and got, and exits with 1 while it raises or a number is wrong.
"""

import sys

import torch

try:
    from torch._higher_order_ops.while_loop import while_loop
except ImportError as error:
    print(error)
    sys.exit(125)


def times(trips, step, start):
    return while_loop(lambda i, c: i < trips, lambda i, c: (i + 1, step(c)), (torch.tensor(0), start))[1]


def function(cloned):
    def f(x):
        def around(a):
            b = times(2, lambda c: c * x, a.clone())
            b = b.clone() if cloned else b
            return times(2, lambda c: c + b * x, b.clone()).clone()

        return times(2, around, x.clone())

    return f


def of_branch(x):
    def around(a):
        b = times(2, lambda c: c * x, a.clone())
        return torch.cond(b > 0, lambda: b * 1.0, lambda: b * 2.0, ())

    return times(2, around, x.clone())


# At x = 1/2: x^2 + 2 x^3 = 1/2, and its derivative 2 x + 6 x^2 = 5/2
wrong = False
print(f"torch {torch.__version__}")
for name, f, expected in (
    ("by a loop, cloned", function(True), 0.5**2 + 0.5 * 2 * 0.5 * 2.5),
    ("by a loop", function(False), 0.5**2 + 0.5 * 2 * 0.5 * 2.5),
    ("by a branch", of_branch, 5 * 0.5**4),
):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    try:
        got = torch.autograd.grad(f(x), x)[0].item()
    except (AssertionError, RuntimeError) as error:
        text = str(error)
        got = text[max(text.find("Source of"), 0) :].splitlines()[0]
    right = got == expected
    wrong |= not right
    print(f"{name}: expected {expected}, got {got}{'' if right else '   wrong'}")
sys.exit(int(wrong))

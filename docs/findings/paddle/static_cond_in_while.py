"""The gradient of static.nn.while_loop with a static.nn.cond in its body is wrong.

    acc = acc * x in 2 trips from 1: x^2, with the derivative 2 x, whether or not the product stands in a branch that is taken always.

Without the branch, and with the two trips written out, it is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

paddle.enable_static()
nn = paddle.static.nn


def derivative(f, at):
    """The derivative of f, of which the graph is built here."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x = paddle.static.data("x", [], "float64")
        x.stop_gradient = False
        (slope,) = paddle.static.gradients([f(x)], [x])
        if slope is None:
            return None
        executor = paddle.static.Executor(paddle.CPUPlace())
        return executor.run(main, feed={"x": np.array(at)}, fetch_list=[slope])[0].item()


def integer(value):
    return paddle.full([], value, "int64")


def start():
    acc = paddle.full([], 1.0, "float64")
    acc.stop_gradient = False
    return acc


def plain(x):
    return nn.while_loop(lambda i, acc: i < 2, lambda i, acc: [i + 1, acc * x], [integer(0), start()])[1]


def unrolled(x):
    acc = start()
    for trip in range(2):
        acc = nn.cond(integer(trip) < 5, lambda acc=acc: acc * x, lambda acc=acc: acc)
    return acc


def branching(x):
    def body(i, acc):
        return [i + 1, nn.cond(i < 5, lambda: acc * x, lambda: acc)]

    return nn.while_loop(lambda i, acc: i < 2, body, [integer(0), start()])[1]


wrong = False
for name, f in (("while_loop", plain), ("cond, twice", unrolled), ("cond in while_loop", branching)):
    for at in (0.5, 0.25):
        got = derivative(f, at)
        print(f"paddle {paddle.__version__}: {name} at {at}: expected {2 * at}, got {got}")
        wrong = wrong or got != 2 * at
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

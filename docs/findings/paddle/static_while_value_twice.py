"""static.nn.while_loop: a value that the body returns and uses elsewhere, too, loses the cotangent of its other use.

    a, b = x, x; once: t = sin(b), a, b = x t, t; a = x sin(x), with the derivative sin(x) + x cos(x) = 0.9182 at x = 0.5.

What comes back is sin(x) = 0.4794. With `t * 1.0` returned in the place of t it is right. The same of a sum of paddle.stack([t, x]).
Prints expected and got, and exits with 1 while they differ, 125 where Paddle is missing.
"""

import math
import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

paddle.enable_static()
nn = paddle.static.nn


def derivative(body, at):
    """Of the first carry after one trip, both from x."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x = paddle.static.data("x", [], "float64")
        x.stop_gradient = False
        i, one = paddle.full([], 0, "int64"), paddle.full([], 1, "int64")
        result = nn.while_loop(lambda i, a, b: i < one, lambda i, a, b: [i + 1, *body(x, a, b)], [i, x * 1.0, x * 1.0])
        (slope,) = paddle.static.gradients([result[1]], [x])
        executor = paddle.static.Executor(paddle.CPUPlace())
        return executor.run(main, feed={"x": np.array(at)}, fetch_list=[slope])[0].item()


def product(x, a, b):
    t = paddle.sin(b)
    return x * t, t


def product_of_a_copy(x, a, b):
    t = paddle.sin(b)
    return x * t, t * 1.0


def stacked(x, a, b):
    t = paddle.sin(b)
    return paddle.stack([t, x]).sum(), t


x = 0.5
wrong = False
for name, body, expected in (
    ("x t", product, math.sin(x) + x * math.cos(x)),
    ("x t, a copy of t returned", product_of_a_copy, math.sin(x) + x * math.cos(x)),
    ("t + x by stack", stacked, math.cos(x) + 1.0),
):
    got = derivative(body, x)
    print(f"paddle {paddle.__version__}: {name}: expected {expected}, got {got}")
    wrong = wrong or abs(got - expected) > 1e-12
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""static.nn.while_loop has no gradient, without a word, where the initial carry is a constant.

    acc = acc * x in 3 trips from 1: x^3, with the derivative 3 x^2 = 0.75 at x = 0.5.

What leaves the loop is taken for a constant where what enters it is one, whatever the body does to it: static.gradients returns None. With
`acc.stop_gradient = False` for the constant it is right. Prints expected and got, and exits with 1 while they differ.
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


def power(x, constant):
    acc = paddle.full([], 1.0, "float64")
    acc.stop_gradient = constant
    return nn.while_loop(lambda i, acc: i < 3, lambda i, acc: [i + 1, acc * x], [integer(0), acc])[1]


wrong = False
for constant in (False, True):
    got = derivative(lambda x, constant=constant: power(x, constant), 0.5)
    print(f"paddle {paddle.__version__}: initial carry with stop_gradient={constant}: expected 0.75, got {got}")
    wrong = wrong or got != 0.75
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

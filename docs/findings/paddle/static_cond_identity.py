"""The gradient of static.nn.cond is lost where a branch returns a variable from outside as it is, and the variable is used elsewhere, too.

    x * (x if true, else 1) is x^2, with the derivative 2 x.

With a copy in the branch (paddle.assign), or any operation, it is right. An `if` of a function that paddle.jit.to_static compiles is such a cond.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)


def doubled(x, flag):
    h = x
    if flag > 0:
        h = h * 2.0
    return (x * h).sum()


def compiled(at):
    """The derivative of x h where h is x as it is."""
    x = paddle.to_tensor([at], dtype="float64", stop_gradient=False)
    paddle.jit.to_static(doubled, full_graph=True)(x, paddle.to_tensor([-1])).backward()
    return x.grad.item()


def derivative(branch, at):
    """The derivative of x times what is returned by a branch that is always taken."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x = paddle.static.data("x", [1], "float64")
        x.stop_gradient = False
        true, one = paddle.full([1], True, "bool"), paddle.full([1], 1.0, "float64")
        y = x * paddle.static.nn.cond(true, lambda: branch(x), lambda: one)
        (slope,) = paddle.static.gradients([y], [x])
        executor = paddle.static.Executor(paddle.CPUPlace())
        return executor.run(main, feed={"x": np.array([at])}, fetch_list=[slope])[0].item()


got = compiled(0.5)
wrong = got != 1.0
print(f"paddle {paddle.__version__}: if in to_static: expected 1.0, got {got}")
paddle.enable_static()
for name, branch in (("as it is", lambda x: x), ("by paddle.assign", paddle.assign)):
    got = derivative(branch, 0.5)
    wrong = wrong or got != 1.0
    print(f"paddle {paddle.__version__}: x returned {name}: expected 1.0, got {got}")
sys.exit(1 if wrong else 0)

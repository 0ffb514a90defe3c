"""paddle.grad drops the part of an output that is itself one of the inputs, where there are further outputs.

    The gradient of y + x by x is 1, and that of 2 u + u by u is 3.

Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError:
    sys.exit(125)

x = paddle.to_tensor(0.5, "float64", stop_gradient=False)
y = paddle.to_tensor(0.25, "float64", stop_gradient=False)
u = x * 3.0
wrong = False
for name, outputs, inputs, expected in (
    ("[x] by x", [x], [x], [1.0]),
    ("[y * 1, x] by x and y", [y * 1.0, x], [x, y], [1.0, 1.0]),
    ("[u * 2, u] by u", [u * 2.0, u], [u], [3.0]),
):
    got = [None if g is None else g.item() for g in paddle.grad(outputs, inputs, retain_graph=True, allow_unused=True)]
    print(f"paddle {paddle.__version__}: {name}: expected {expected}, got {got}")
    wrong = wrong or got != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

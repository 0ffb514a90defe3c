"""The gradient of paddle.nn.functional.affine_grid by matrices of three rows has two, by those of four columns three.

A map of the plane is a matrix (2, 3), by the documents; one of three rows is taken, and its last row is not read. The gradient has to have
the shape of the argument, with zeros there, or the call has to raise. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError:
    print("this script needs paddle")
    sys.exit(125)

wrong = False
for rows, columns in ((2, 3), (3, 3), (2, 4)):
    theta = paddle.eye(rows, columns).unsqueeze(0)
    theta.stop_gradient = False
    try:
        grid = paddle.nn.functional.affine_grid(theta, (1, 1, 2, 2))
    except ValueError as error:
        print(f"{theta.shape}: it raises {error}")
        continue
    (got,) = paddle.grad([paddle.sum(grid)], [theta])
    print(f"{theta.shape}: the gradient is expected to have this shape, got {got.shape}")
    wrong = wrong or got.shape != theta.shape
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

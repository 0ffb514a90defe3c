"""The gradient of paddle.matmul raises by a stack of matrices that is broadcast over a further axis.

Matrices of ones: each entry of the gradient of the sum by x is the number of columns of y times how often it was used.
Prints expected and got, and exits with 1 while it raises.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for shape in ((3, 4), (1, 2, 3, 4), (5, 2, 3, 4), (2, 3, 4)):
    x = paddle.ones(shape, dtype="float64")
    x.stop_gradient = False
    y = paddle.ones([5, 2, 4, 6], dtype="float64")
    z = paddle.matmul(x, y)
    expected = 6.0 * (5 * 2 * 3 * 4) / x.size
    try:
        (slope,) = paddle.grad(z.sum(), [x])
        got = slope.numpy().reshape(-1)[0]
    except ValueError as error:
        got = " ".join(str(error).split())[:80]
    holds = got == expected
    wrong |= not holds
    print(f"x {shape}, result {tuple(z.shape)}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

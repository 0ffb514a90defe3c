"""The gradient of paddle.linalg.matrix_power of a complex matrix.

The real part of (x + iy)^2 is x^2 - y^2, with the gradient (2x, -2y). Prints expected and got; exits with 1 while
they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

x = paddle.to_tensor(0.875, "float64", stop_gradient=False)
y = paddle.to_tensor(0.125, "float64", stop_gradient=False)
square = paddle.linalg.matrix_power(paddle.reshape(paddle.complex(x, y), [1, 1]), 2)
got = [g.item() for g in paddle.grad([paddle.sum(paddle.real(square))], [x, y])]
expected = [2 * 0.875, -2 * 0.125]
print("expected", expected)
print("got     ", got)
wrong = not np.allclose(got, expected, rtol=1e-14, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

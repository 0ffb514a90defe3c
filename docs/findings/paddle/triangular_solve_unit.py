"""The gradient of paddle.linalg.triangular_solve with unitriangular=True and upper=False is not 0 by entries that are not read.

    The solution of [[1, 0], [c, 1]] x = b is x = (b0, b1 - c b0), whatever stands on the diagonal and above it; d(x0 + x1)/dc = -b0.

The kernel keeps the triangle from the diagonal `unitriangular` on (paddle/phi/kernels/impl/triangular_solve_grad_kernel_impl.h), which is 1: right for
an upper triangle, for a lower one it should be -1. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

a = paddle.to_tensor(np.array([[2.0, 7.0], [3.0, 5.0]]), stop_gradient=False)
b = paddle.to_tensor(np.array([[1.0], [4.0]]), stop_gradient=False)
x = paddle.linalg.triangular_solve(a, b, upper=False, unitriangular=True)
got = paddle.grad([x.sum()], [a, b])[0].numpy()  # by both: see paddle/solve_one_side.py
expected = np.array([[0.0, 0.0], [-1.0, 0.0]])
print(f"paddle {paddle.__version__}: solution {x.numpy().ravel().tolist()}, expected [1.0, 1.0]")
print(f"gradient by the matrix: expected {expected.tolist()}, got {got.tolist()}")
wrong = not np.allclose(got, expected, atol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

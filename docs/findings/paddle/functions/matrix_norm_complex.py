"""paddle.linalg.matrix_norm of a complex matrix: the value itself is a complex number.

The Frobenius norm of [[3 + i, 1 - i], [2i, 1]] is sqrt(17), and its gradient the matrix divided by it. paddle.linalg.norm is right. Prints expected and got; exits with
1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

matrix = np.array([[3 + 1j, 1 - 1j], [2j, 1]])
wrong = False
for name in ("norm", "matrix_norm"):
    x = paddle.to_tensor(matrix, stop_gradient=False)
    y = getattr(paddle.linalg, name)(x)
    got, slope = y.item(), paddle.grad([y], [x])[0].numpy()
    print(f"{name}: expected {np.sqrt(17.0)}, got {got}")
    wrong = wrong or abs(got - np.sqrt(17.0)) > 1e-12 or not np.allclose(slope, matrix / np.sqrt(17.0))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

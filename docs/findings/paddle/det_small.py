"""The gradient of paddle.linalg.det is 0 wherever a determinant is below 1e-5 (float32) or 1e-12 (float64), for the whole stack.

    det(diag(a, b)) = a b, with the gradient diag(b, a). Of a singular matrix of rank n - 1 the gradient is not 0, either.

The kernel takes matrices with a small determinant for singular, and the gradient of singular ones for 0; it looks at all matrices of a stack at once
(paddle/phi/kernels/impl/determinant_grad_kernel_impl.h, CheckMatrixInvertible). Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

cases = {
    "well conditioned, det 4e-6": ([[2e-3, 0.0], [0.0, 2e-3]], [[2e-3, 0.0], [0.0, 2e-3]]),
    "singular of rank 1": ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    "a stack, its second matrix 0": (
        [[[2.0, 0.0], [0.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]]],
        [[[3.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]],
    ),
}
wrong = False
for name, (matrix, expected) in cases.items():
    x = paddle.to_tensor(np.array(matrix, "float32"), stop_gradient=False)
    got = paddle.grad([paddle.linalg.det(x).sum()], [x])[0].numpy()
    print(f"paddle {paddle.__version__}, float32, {name}: expected {expected}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, np.array(expected), rtol=1e-5, atol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

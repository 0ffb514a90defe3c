"""The gradient of paddle.linalg.eig by the eigenvalues is wrong for a stack of matrices.

    Half the sum of the squares of the eigenvalues is half the trace of A A: its gradient is the transpose of A, for each matrix of the stack.

Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

expected = np.array([[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 5.0]]])
x = paddle.to_tensor(expected, stop_gradient=False)
w = paddle.linalg.eig(x)[0]
got = paddle.grad([paddle.sum(paddle.real(w * w)) / 2], [x])[0].numpy()
print(f"paddle {paddle.__version__}: expected {expected.tolist()}, got {got.tolist()}")
sys.exit(0 if np.allclose(got, expected, rtol=1e-9) else 1)

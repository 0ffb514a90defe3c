"""The gradient of the eigenvalues by paddle.linalg.eigh and eigvalsh is wrong for all matrices of a stack but the first.

    The eigenvalues of diag(a, b) are a and b; the gradient of <weight, eigenvalues> is diag(weight), in the order of the eigenvalues.

The kernel repeats the cotangents of all matrices as one row, once for each row of a matrix, so that from the second matrix on they meet others
(paddle/phi/kernels/impl/eigvalsh_grad_kernel_impl.h: out_w_grad is flattened, then broadcast).
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

wrong = False
stack = np.array([np.diag([1.0, 2.0]), np.diag([3.0, 5.0])])
weight = np.array([[1.0, 10.0], [100.0, 1000.0]])
expected = np.array([np.diag(w) for w in weight])
for name, eigenvalues in (("eigh", lambda x: paddle.linalg.eigh(x)[0]), ("eigvalsh", paddle.linalg.eigvalsh)):
    x = paddle.to_tensor(stack, stop_gradient=False)
    got = paddle.grad([eigenvalues(x)], [x], [paddle.to_tensor(weight)])[0].numpy()
    print(f"paddle {paddle.__version__}: {name} of two matrices, expected {expected.tolist()}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected, atol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The gradient of paddle.linalg.lu is NaN at a singular matrix whose leading part is regular.

    A = [[2, 1], [1, 1/2]] = L U with L21 = a21 / a11 and U22 = a22 - a21 a12 / a11 = 0, both smooth in A:
    the slopes of L21 are [[-1/4, 0], [1/2, 0]], those of U22 [[1/4, -1/2], [-1, 1]]

The values are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    print("this script needs paddle")
    sys.exit(125)

wrong = False
print(f"paddle {paddle.__version__}")
for name, place, expected in (
    ("L21", (1, 0), [[-0.25, 0.0], [0.5, 0.0]]),
    ("U22", (1, 1), [[0.25, -0.5], [-1.0, 1.0]]),
):
    a = paddle.to_tensor([[2.0, 1.0], [1.0, 0.5]], "float64", stop_gradient=False)
    factors = paddle.linalg.lu(a)[0]
    got = paddle.grad(factors[place], [a])[0].numpy()
    print(f"{name} = {float(factors[place])}: expected {expected}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected)
sys.exit(int(wrong))

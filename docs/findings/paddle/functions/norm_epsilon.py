"""The gradient of paddle.norm of small numbers.

That of the norm of (3, 4) times anything is (0.6, 0.8). nn.functional.normalize divides by the norm where it is larger
than epsilon. Prints expected and got; exits with 1 while they differ by more than float64 allows.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for scale in (1.0, 1e-6, 1e-12):
    x = paddle.to_tensor(np.array([3.0, 4.0]) * scale, stop_gradient=False)
    got = paddle.grad([paddle.norm(x)], [x])[0].numpy()
    print(f"scale {scale}: expected [0.6, 0.8], got {got.tolist()}")
    wrong = wrong or not np.allclose(got, [0.6, 0.8], rtol=1e-14, atol=0)
x = paddle.to_tensor([[3.0, 4.0]], dtype="float64", stop_gradient=False)
first = paddle.nn.functional.normalize(x, epsilon=1.0)[0, 0]
got = paddle.grad([first], [x])[0].numpy()[0]
print(f"normalize, epsilon = 1: expected [0.128, -0.096], got {got.tolist()}")
wrong = wrong or not np.allclose(got, [0.128, -0.096], rtol=1e-14, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

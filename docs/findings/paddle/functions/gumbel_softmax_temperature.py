"""The gradient of paddle.nn.functional.gumbel_softmax at a temperature that is not 1.

It returns y = softmax((x + g) / t) for random g. The gradient of the sum of w y by x is
y (w - sum(w y)) / t, whatever g is. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
    from paddle.nn.functional import gumbel_softmax
except ImportError as error:
    print(error)
    sys.exit(125)

w = np.array([1.0, -2.0, 0.5])
wrong = False
for temperature in (1.0, 2.0, 0.5):
    paddle.seed(0)
    x = paddle.to_tensor([1.0, 0.25, -0.5], "float64", stop_gradient=False)
    y = gumbel_softmax(x, temperature)
    (got,) = (g.numpy() for g in paddle.grad([paddle.sum(y * paddle.to_tensor(w))], [x]))
    share = y.numpy()
    expected = share * (w - np.sum(w * share)) / temperature
    print(f"temperature {temperature}: expected {expected.tolist()}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected, rtol=1e-6, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

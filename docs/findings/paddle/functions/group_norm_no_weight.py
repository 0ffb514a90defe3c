"""The gradient of paddle.nn.functional.group_norm without a weight, on the CPU.

With the mean m of a group, s^2 = variance + epsilon and y = (x - m) / s, that of the sum of w y is
(w - mean(w) - y mean(w y)) / s. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

x = np.array([[1.0, 2.0, 4.0]])
w = np.array([[1.0, 10.0, 100.0]])
s = np.sqrt(np.var(x) + 1e-5)
y = (x - np.mean(x)) / s
expected = (w - np.mean(w) - y * np.mean(w * y)) / s
wrong = False
for name, weight in (("with a weight of ones", paddle.ones([3], "float64")), ("without", None)):
    bias = None if weight is None else paddle.zeros([3], "float64")
    given = paddle.to_tensor(x, stop_gradient=False)
    normed = paddle.nn.functional.group_norm(given, 1, epsilon=1e-5, weight=weight, bias=bias)
    got = paddle.grad([paddle.sum(normed * paddle.to_tensor(w))], [given])[0].numpy()
    print(f"{name}: expected {expected.tolist()}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected, rtol=1e-6, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

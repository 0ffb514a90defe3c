"""The gradient of paddle.as_strided where entries of the view are one number in memory.

The rows (x0, x1) and (x1, x2) times (1, 10) and (100, 1000): x1 counts 10 + 100. Prints expected and got; exits
with 1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

x = paddle.to_tensor([1.0, 2.0, 3.0], "float64", stop_gradient=False)
weights = paddle.to_tensor([[1.0, 10.0], [100.0, 1000.0]], "float64")
rows = paddle.as_strided(x, [2, 2], [1, 1])
got = paddle.grad([paddle.sum(rows * weights)], [x])[0].numpy()
expected = np.array([1.0, 110.0, 1000.0])
print("rows", rows.numpy().tolist())
print("expected", expected.tolist())
print("got     ", got.tolist())
wrong = not np.array_equal(got, expected)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

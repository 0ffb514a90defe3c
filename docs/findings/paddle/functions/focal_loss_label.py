"""The gradient of paddle.nn.functional.sigmoid_focal_loss by its labels.

The loss is a (1 - p)^2 c with p = s l + (1 - s)(1 - l), a = l / 4 + 3 (1 - l) / 4, c = log(1 + e^q) - q l and
s = sigmoid(q). By l: p' = 2 s - 1, a' = -1/2, c' = -q. Prints expected and got; exits with 1 while they differ.
"""

import math
import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

q, l = -2.0, 1.0
s = 1.0 / (1.0 + math.exp(-q))
p, a, c = s * l + (1 - s) * (1 - l), l / 4 + 3 * (1 - l) / 4, math.log1p(math.exp(q)) - q * l
loss = a * (1 - p) ** 2 * c
expected = -(1 - p) ** 2 * c / 2 - a * 2 * (1 - p) * (2 * s - 1) * c - a * (1 - p) ** 2 * q
label = paddle.to_tensor([[l]], "float64", stop_gradient=False)
value = paddle.nn.functional.sigmoid_focal_loss(paddle.to_tensor([[q]], "float64"), label)
got = paddle.grad([value], [label])[0].item()
print("value:    expected", loss, "got", value.item())
print("gradient: expected", expected, "got", got)
wrong = not math.isclose(got, expected, rel_tol=1e-6)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

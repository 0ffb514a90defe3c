"""The gradient of paddle.nn.functional.interpolate(mode="linear") to one number.

Of two numbers it returns the mean, so its gradient is (1/2, 1/2). Prints expected and got; exits with 1 while they
differ.
"""

import sys

try:
    import paddle
except ImportError:
    print("this script needs paddle")
    sys.exit(125)

x = paddle.to_tensor([[[1.0, 3.0]]], stop_gradient=False)
y = paddle.nn.functional.interpolate(x, size=[1], mode="linear", data_format="NCW")
(got,) = paddle.grad([paddle.sum(y)], [x])
moved = paddle.nn.functional.interpolate(x + paddle.to_tensor([0.0, 1.0]), size=[1], mode="linear", data_format="NCW")
print(f"value: expected 2, got {y.item()}; where the second number is greater by 1: {moved.item()}")
print(f"gradient: expected [0.5, 0.5], got {got.flatten().tolist()}")
wrong = got.flatten().tolist() != [0.5, 0.5] and y.item() == 2.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

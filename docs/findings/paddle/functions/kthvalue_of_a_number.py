"""The gradients of paddle.kthvalue and paddle.mode of a number, which is not in an array.

Both return the number, so the gradient of 5 times it is 5, as of paddle.median and paddle.topk. Prints
expected and got; exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

asked = {
    "topk": lambda x: paddle.topk(x, 1)[0],
    "kthvalue": lambda x: paddle.kthvalue(x, 1)[0],
    "mode": lambda x: paddle.mode(x)[0],
}
wrong = False
for name, f in asked.items():
    x = paddle.to_tensor(0.5, "float64", stop_gradient=False)
    got = paddle.grad([5.0 * f(x)], [x])[0].item()
    print(f"{name}: expected 5, got {got}")
    wrong = wrong or got != 5.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

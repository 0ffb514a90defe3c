"""The second derivative of paddle.pow(x, 0) is NaN at x = 0.

x^0 is 1, with derivatives 0. The rule multiplies the exponents by x^(0 - 2). Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError:
    sys.exit(125)

wrong = False
for at in (0.5, 0.0):
    x = paddle.to_tensor(at, "float64", stop_gradient=False)
    (slope,) = paddle.grad([paddle.pow(x, 0)], [x], create_graph=True)
    (second,) = paddle.grad([slope], [x], allow_unused=True)
    got = [slope.item(), 0.0 if second is None else second.item()]
    print(f"paddle {paddle.__version__}: x = {at}: expected [0.0, 0.0], got {got}")
    wrong = wrong or got != [0.0, 0.0]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

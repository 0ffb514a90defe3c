"""The derivative of the sigmoid in PaddlePaddle loses its digits as x grows, and is 0 long before it leaves the range.

It is computed as y (1 - y), and y rounds to 1; exp(-x) / (1 + exp(-x))^2 keeps all digits, and that at -x is right.
Prints expected and got, and exits with 1 while they differ by more than a thousandth.
"""

import math
import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for x in (-30.0, 5.0, 30.0, 40.0, 100.0):
    expected = math.exp(-abs(x)) / (1 + math.exp(-abs(x))) ** 2
    point = paddle.to_tensor(x, dtype="float64", stop_gradient=False)
    got = paddle.grad(paddle.nn.functional.sigmoid(point), [point])[0].item()
    holds = abs(got - expected) <= 1e-3 * expected
    wrong |= not holds
    print(f"x = {x}: expected {expected:.9g}, got {got:.9g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

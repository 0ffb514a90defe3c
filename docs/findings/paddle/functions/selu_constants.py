"""Value and gradient of paddle.nn.functional.selu of float64 have the digits of float32.

selu(x) is s x for x > 0 and s a (exp(x) - 1) below, with the default constants s and a of its documentation. Prints
expected and got, and exits with 1 while they differ by more than 1e-12 of it.
"""

import math
import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

S, A = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
wrong = False
for x in (0.5, -0.5):
    point = paddle.to_tensor(x, dtype="float64", stop_gradient=False)
    y = paddle.nn.functional.selu(point)
    (slope,) = paddle.grad(y, [point])
    truths = (S * x, S) if x > 0 else (S * A * math.expm1(x), S * A * math.exp(x))
    for name, expected, got in zip(("value", "gradient"), truths, (y.item(), slope.item())):
        holds = abs(got / expected - 1) < 1e-12
        wrong |= not holds
        print(f"x = {x}, {name}: expected {expected!r}, got {got!r}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

"""The gradient of paddle.nn.functional.binary_cross_entropy_with_logits at a logit of 0 is too small by 1.

    the loss of logit x and label y is log(1 + exp(x)) - x y, with the slope sigmoid(x) - y: 1/2 - y at 0

Next to 0 it is right, and at 0 with pos_weight=1. A last layer that begins with zeros has this logit for every
example. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import paddle
except ImportError:
    print("this script needs paddle")
    sys.exit(125)

wrong = False
print(f"paddle {paddle.__version__}")
for y in (0.0, 0.25, 1.0):
    for x in (0.0, 1e-30, 1.0):
        logit = paddle.to_tensor([x], "float64", stop_gradient=False)
        loss = paddle.nn.functional.binary_cross_entropy_with_logits(logit, paddle.to_tensor([y], "float64"))
        got = float(paddle.grad(loss, [logit])[0].sum())
        expected = 1.0 / (1.0 + math.exp(-x)) - y
        print(f"logit {x}, label {y}: expected {expected:.12f}, got {got:.12f}")
        wrong = wrong or abs(got - expected) > 1e-9
sys.exit(int(wrong))

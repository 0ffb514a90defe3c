"""Forward mode of paddle.pow with a number as the exponent, of var, which is made of it, of batch_norm and of instance_norm raises.

At 2 the derivatives of x^0, x^3 and (x^2)^2 are 0, 12 and 32; that of the variance of (x, -x), with n - 1 below, 2 x^2, along (1, -1) is 8. With
eps = 1 the first of the normalized numbers (x, 0) is x / sqrt(x^2 + 4), whose slope at 2 is 4 / 8^(3/2). instance_norm of one number is
constant. Prints expected and got; exits with 1 while they differ.
"""

import math
import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

functional = paddle.nn.functional
mean, variance = paddle.zeros([1], "float64"), paddle.ones([1], "float64")


def batch_norm(x):
    return functional.batch_norm(paddle.concat([x, 0.0 * x]), mean, variance, training=True, epsilon=1.0)[0]


def instance_norm(x):
    return functional.instance_norm(paddle.concat([x, 0.0 * x], -1), eps=1.0)[0, 0, 0]


wrong = False
for name, f, shape, expected in (
    ("pow(x, 0)", lambda x: paddle.pow(x, 0.0), [1], 0.0),
    ("pow(x, 3)", lambda x: paddle.pow(x, 3.0), [1], 12.0),
    ("(x * x) * (x * x)", lambda x: (x * x) * (x * x), [1], 32.0),
    ("var(x, -x)", lambda x: paddle.var(paddle.concat([x, -x])), [1], 8.0),
    ("instance_norm(x)", functional.instance_norm, [1, 1], 0.0),
    ("instance_norm(x, 0)", instance_norm, [1, 1, 1], 4.0 / 8.0**1.5),
    ("batch_norm(x, 0)", batch_norm, [1, 1], 4.0 / 8.0**1.5),
):
    x, one = paddle.full(shape, 2.0, "float64"), paddle.ones(shape, "float64")
    try:
        got = paddle.incubate.autograd.jvp(f, x, one)[1].item()
        wrong = wrong or not math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-12)
    except Exception as error:
        got, wrong = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}", True
    print(f"{name}: expected {expected}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Forward mode of paddle.pow with a number as the exponent, of var, which is made of it, and of instance_norm of one number without a scale, raises.

At 2 the derivatives of x^0, x^3 and (x^2)^2 are 0, 12 and 32; that of the variance of (x, -x), with n - 1 below, 2 x^2, along (1, -1) is 8; the last
function is constant. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, f, shape, expected in (
    ("pow(x, 0)", lambda x: paddle.pow(x, 0.0), [1], 0.0),
    ("pow(x, 3)", lambda x: paddle.pow(x, 3.0), [1], 12.0),
    ("(x * x) * (x * x)", lambda x: (x * x) * (x * x), [1], 32.0),
    ("var(x, -x)", lambda x: paddle.var(paddle.concat([x, -x])), [1], 8.0),
    ("instance_norm(x)", paddle.nn.functional.instance_norm, [1, 1], 0.0),
):
    x, one = paddle.full(shape, 2.0, "float64"), paddle.ones(shape, "float64")
    try:
        got = paddle.incubate.autograd.jvp(f, x, one)[1].item()
    except Exception as error:
        got = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    print(f"{name}: expected {expected}, got {got}")
    wrong = wrong or got != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Forward mode of paddle.pow with the exponent 0, and of instance_norm of one number without a scale, raises.

Both functions are constant, so their derivatives are 0. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, f, shape in (
    ("pow(x, 0)", lambda x: paddle.pow(x, 0.0), [1]),
    ("instance_norm(x)", paddle.nn.functional.instance_norm, [1, 1]),
):
    x, one = paddle.full(shape, 2.0, "float64"), paddle.ones(shape, "float64")
    try:
        got = paddle.incubate.autograd.jvp(f, x, one)[1].item()
    except Exception as error:
        got = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    print(f"{name}: expected 0.0, got {got}")
    wrong = wrong or got != 0.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

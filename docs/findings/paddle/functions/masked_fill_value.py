"""The gradient of paddle.masked_fill by the number that is filled in, where that by the array is asked, too.

The number stands where the mask is True, so its slope is the sum of the weights there. paddle.where, which fills in
the same, has it. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError:
    print("this script needs paddle")
    sys.exit(125)

mask = paddle.to_tensor([True, False, True])
weights = paddle.to_tensor([1.0, 10.0, 100.0])
wrong = False
for name, fill in (
    ("paddle.where", lambda x, value: paddle.where(mask, value, x)),
    ("paddle.masked_fill", lambda x, value: paddle.masked_fill(x, mask, value)),
):
    for both in (False, True):
        x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=not both)
        value = paddle.to_tensor(5.0, stop_gradient=False)
        y = paddle.sum(weights * fill(x, value))
        *by_x, by_value = paddle.grad([y], [x, value] if both else [value])
        by_x = f"by the array [0, 10, 0], got {by_x[0].tolist()}, " if both else ""
        print(f"{name}: expected {by_x}by the number 101, got {by_value.item()}")
        wrong = wrong or by_value.item() != 101.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

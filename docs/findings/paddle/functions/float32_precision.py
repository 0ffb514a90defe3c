"""Numbers in float32 on the way of functions of float64: the gradients of average pools, interpolate, and norms with another p than 1 and 2.

The mean of three numbers has the gradient 1/3; the value of avg_pool1d and adaptive_avg_pool2d is right. Linear interpolation of (0, 1) at four
places is 0, 1/3, 2/3, 1. The 3-norm of (3, 7) is the cube root of 370. Prints expected and got; exits with 1 while they differ by more than float64
allows.
"""

import sys

try:
    import paddle
    import paddle.nn.functional as F
except ImportError as error:
    print(error)
    sys.exit(125)


def slope(f, x):
    return paddle.grad([f(x).sum()], [x])[0].numpy().ravel()[0].item()


def number(values, shape):
    return paddle.to_tensor(values, "float64", stop_gradient=False).reshape(shape)


cube_root = 370.0 ** (1.0 / 3.0)
row = paddle.to_tensor([3.0, 7.0], "float64", stop_gradient=False)
ends = number([0.0, 1.0], [1, 1, 2])
middle = F.interpolate(ends, size=[4], mode="linear", align_corners=True, data_format="NCW").numpy().ravel()[1].item()
cases = (
    ("avg_pool1d, gradient", 1 / 3, slope(lambda x: F.avg_pool1d(x, 3), number([1.0, 2.0, 4.0], [1, 1, 3]))),
    ("adaptive_avg_pool2d, gradient", 1 / 3, slope(lambda x: F.adaptive_avg_pool2d(x, 1), number([1.0, 2.0, 4.0], [1, 1, 1, 3]))),
    ("interpolate, value", 1 / 3, middle),
    ("norm(p=3), value", cube_root, paddle.norm(row, 3).item()),
    ("norm(p=3), gradient", 9.0 / cube_root**2, slope(lambda x: paddle.norm(x, 3), row)),
    ("dist(p=3), value", cube_root, paddle.dist(row, paddle.zeros_like(row), 3).item()),
)
wrong = False
for name, expected, got in cases:
    error = abs(got / expected - 1)
    wrong = wrong or error > 1e-13
    print(f"{name}: expected {expected}, got {got}, relative error {error:.1e}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

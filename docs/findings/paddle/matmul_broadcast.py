"""The gradient of paddle.matmul raises for some stacks that broadcast, and the second one switches gradients off for good.

    The gradient of the sum of a @ b by a is, for ones, the number of columns of b times the stacks that a was repeated for.

First: a of shape (2, 1, 3, 4), b of shape (5, 4, 2), ValueError "Input dimension size should be equal to 2". With b of shape (1, 5, 4, 2), which means
the same, the gradient is right. Second: a vector times a stack, a of shape (3,), b of shape (2, 3, 4): the second derivative raises, and afterwards
paddle.is_grad_enabled() is False: every later gradient is None. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

wrong = False
for shape in ((1, 5, 4, 2), (5, 4, 2)):
    a, b = paddle.ones([2, 1, 3, 4], "float64"), paddle.ones(shape, "float64")
    a.stop_gradient = b.stop_gradient = False
    try:
        got = paddle.grad([paddle.matmul(a, b).sum()], [a, b])[0].numpy().tolist()
    except Exception as error:
        got = f"{type(error).__name__}: {str(error).strip().splitlines()[-1].strip()}"
    right = got == np.full((2, 1, 3, 4), 10.0).tolist()
    print(f"paddle {paddle.__version__}: (2, 1, 3, 4) @ {shape}: expected 10.0 everywhere, got {'it' if right else got}")
    wrong = wrong or not right

a, b = paddle.ones([3], "float64"), paddle.ones([2, 3, 4], "float64")
a.stop_gradient = b.stop_gradient = False
slopes = paddle.grad([paddle.matmul(a, b).sum()], [a, b], create_graph=True)
try:
    got = paddle.grad([(slopes[0] * slopes[0]).sum()], [b])[0].numpy().tolist()
except Exception as error:
    got = f"{type(error).__name__}: {str(error).strip().splitlines()[-1].strip()}"
right = got == np.full((2, 3, 4), 16.0).tolist()  # each of the 3 slopes is a sum of 8 entries of b: 2 * 8
print(f"(3,) @ (2, 3, 4), second derivative: expected 16.0 everywhere, got {'it' if right else got}")
print(f"gradients are recorded afterwards: expected True, got {paddle.is_grad_enabled()}")
wrong = wrong or not right or not paddle.is_grad_enabled()
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

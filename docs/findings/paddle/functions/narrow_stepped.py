"""The gradient of paddle.narrow of a stepped view is written to the places of a view without steps.

Rows of x[:, ::2] are asked for; the gradient of their sum by x is 1 at the entries that were read. Prints expected and
got, and exits with 1 while they differ.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], dtype="float64", stop_gradient=False)
cases = {
    "x[0:1, ::2] by slices": (lambda x: x[:, ::2][0:1], [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    "narrow(x, 0, 0, 1)": (lambda x: paddle.narrow(x, 0, 0, 1), [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    "narrow(x[:, ::2], 0, 0, 1)": (
        lambda x: paddle.narrow(x[:, ::2], 0, 0, 1),
        [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ),
}
wrong = False
for name, (f, expected) in cases.items():
    (slope,) = paddle.grad(f(x).sum(), [x])
    got = slope.numpy().tolist()
    holds = got == expected
    wrong |= not holds
    print(f"{name}: expected {expected}, got {got}{'' if holds else '   wrong'}", flush=True)
sys.exit(int(wrong))

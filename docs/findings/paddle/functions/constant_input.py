"""The backward passes of paddle.nn.InstanceNorm1D and of hsigmoid_loss raise where the input is not differentiated, as in the first
layer of a network.

The sum of (y + 1)^2 over the 4 entries of a channel has the gradient 8 by the bias, for y has the mean 0. The loss of class 0 of 3
depends on the root of a tree alone, as log(1 + e^(w x)) - w x, and has the gradient p - 1 by w at x = 1, with p = 1 / (1 + e^-w). Prints expected and got, and exits with 1 while it raises.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

paddle.set_device("cpu")


def norm(differentiated):
    x = paddle.to_tensor(np.arange(12.0).reshape(2, 3, 2) ** 1.5, dtype="float32")
    x.stop_gradient = not differentiated
    layer = paddle.nn.InstanceNorm1D(3)
    ((layer(x) + 1.0) ** 2).sum().backward()
    return layer.bias.grad.numpy().round(3).tolist()


def loss(differentiated):
    x, weight, bias = paddle.ones([1, 1]), paddle.ones([2, 1]), paddle.zeros([2, 1])
    x.stop_gradient, weight.stop_gradient = not differentiated, False
    paddle.nn.functional.hsigmoid_loss(x, paddle.to_tensor([[0]]), 3, weight, bias).sum().backward()
    return weight.grad.numpy().round(3).tolist()


print(f"paddle {paddle.__version__}")
wrong = False
p = 1.0 / (1.0 + np.exp(-1.0))
for name, f, expected in (
    ("nn.InstanceNorm1D, by the bias", norm, [8.0, 8.0, 8.0]),
    ("hsigmoid_loss, by the weight", loss, [[round(float(p - 1.0), 3)], [0.0]]),
):
    for differentiated in (True, False):
        try:
            got = f(differentiated)
            wrong = wrong or not np.allclose(got, expected)
        except Exception as error:
            got, wrong = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}", True
        print(f"{name}, input {'differentiated' if differentiated else 'a constant'}: expected {expected}, got {got}")
sys.exit(int(wrong))

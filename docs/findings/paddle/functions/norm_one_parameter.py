"""A weight without a bias, or a bias without a weight, gets no gradient from paddle.nn.functional.batch_norm and instance_norm.

The sum of squares of y = w n + b, with n of mean 0 and variance 1 over the m entries of a channel, has the gradient 2 m w by
the weight without a bias, and 2 m b by the bias without a weight. Paddle has none: None, so that an optimizer leaves the
parameter as it is. nn.BatchNorm1D with bias_attr=False or weight_attr=False does the same. With both parameters they are right,
and so are layer_norm and group_norm. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

paddle.set_device("cpu")
functional = paddle.nn.functional
x = paddle.to_tensor(np.arange(12.0).reshape(2, 3, 2) ** 1.5)  # 4 entries in each of 3 channels
mean, variance = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
expected = [8.0, 16.0, 24.0]
cases = {
    "batch_norm, bias": (lambda p: functional.batch_norm(x, mean, variance, None, p, training=True, epsilon=1e-12)),
    "batch_norm, weight": (lambda p: functional.batch_norm(x, mean, variance, p, None, training=True, epsilon=1e-12)),
    "instance_norm, bias": (lambda p: functional.instance_norm(x, bias=p, eps=1e-12)),
    "instance_norm, weight": (lambda p: functional.instance_norm(x, weight=p, eps=1e-12)),
}
print(f"paddle {paddle.__version__}")
wrong = False
for name, f in cases.items():
    x.stop_gradient = False
    parameter = paddle.to_tensor([1.0, 2.0, 3.0], dtype="float64")
    parameter.stop_gradient = False
    (f(parameter) ** 2).sum().backward()
    got = None if parameter.grad is None else parameter.grad.numpy()
    holds = got is not None and np.allclose(got, expected, rtol=1e-6)
    print(f"{name}: expected {expected}, got {got if got is None else got.tolist()}")
    wrong = wrong or not holds
for word in ("weight", "bias"):
    layer = paddle.nn.BatchNorm1D(3, **{"bias_attr" if word == "weight" else "weight_attr": False})
    y = layer(x.detach().astype("float32"))
    ((y + 1.0) ** 2).sum().backward()  # by the weight 2 m w, by the bias 2 m
    got = getattr(layer, word).grad
    print(f"nn.BatchNorm1D with a {word} alone: expected [8, 8, 8], got {got if got is None else got.numpy().tolist()}")
    wrong = wrong or got is None or not np.allclose(got.numpy(), 8.0, rtol=1e-3)
sys.exit(int(wrong))

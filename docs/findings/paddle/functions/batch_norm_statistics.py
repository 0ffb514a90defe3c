"""paddle.nn.functional.batch_norm with use_global_stats=False, outside of training: the value has the statistics of the batch, the gradient takes
them for constants.

For one column the value is (x - mean) / s with s = sqrt(var + eps), and the gradient of the sum of w times it is
(w - mean(w) - y mean(w y)) / s. One row alone is returned as it is, so that its gradient is 1.
Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

x, w, eps = np.array([-2.0, 1.0, 4.0]), np.array([1.0, 10.0, 100.0]), 1e-5
s = np.sqrt(x.var() + eps)
y = (x - x.mean()) / s
expected = (w - w.mean() - y * (w * y).mean()) / s
wrong = False


def gradient(x, w, **how):
    x = paddle.to_tensor(x.reshape(-1, 1), stop_gradient=False)
    mean, variance = paddle.to_tensor([-3.0], "float64"), paddle.to_tensor([0.33], "float64")
    out = paddle.nn.functional.batch_norm(x, mean, variance, epsilon=eps, **how)
    slope = paddle.grad([(out * paddle.to_tensor(w.reshape(-1, 1))).sum()], [x])[0]
    return out.numpy().ravel(), slope.numpy().ravel()


for how in ({"training": True}, {"use_global_stats": False}):
    value, got = gradient(x, w, **how)
    assert np.allclose(value, y, rtol=1e-10), "the value is that of the batch"
    print(how, "expected", expected, "got", got)
    wrong = wrong or not np.allclose(got, expected, rtol=1e-8)
value, got = gradient(np.array([-2.0]), np.array([1.0]), use_global_stats=False)
print("one row: value", value, "expected [1.]", "got", got)
wrong = wrong or (value[0] == -2.0 and got[0] != 1.0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

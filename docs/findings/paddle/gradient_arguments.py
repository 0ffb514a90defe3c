"""Calls of Paddle whose value is returned and whose gradient raises: the arguments do not fit, or hardly.

The sum of what broadcast_tensors returns for one tensor has the gradient 1. A kernel of size 0, and a half-complex spectrum of
one entry, whose length is 0, give results without entries, and all gradients are 0; or the call should raise.
Prints expected and got, and exits with 1 while one raises.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

paddle.set_device("cpu")
index = paddle.to_tensor([[[0]]], dtype="int32")
cases = {
    "broadcast_tensors([x])": (lambda x: paddle.broadcast_tensors([x])[0], [1.5], [1.0]),
    "fft.hfft(x)": (paddle.fft.hfft, [1.5], [0.0]),
    "max_unpool1d(x, index, 0)": (lambda x: paddle.nn.functional.max_unpool1d(x, index, 0), [[[1.5]]], [[[0.0]]]),
}
print(f"paddle {paddle.__version__}")
wrong = False
for name, (f, x, expected) in cases.items():
    x = paddle.to_tensor(x, dtype="float64")
    x.stop_gradient = False
    y = f(x)
    try:
        got = paddle.grad([y.sum()], [x])[0].numpy().tolist()
        wrong = wrong or got != expected
    except Exception as error:
        got, wrong = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}", True
    print(f"{name}, shape {list(y.shape)}: expected {expected}, got {got}")
sys.exit(int(wrong))

"""The gradient of paddle.nn.functional.pdist is NaN for p below 1, also of points that all differ.

Two points: the distance is (|a|^p + |b|^p)^(1/p) of their differences a and b, and its derivative by a is
|a|^(p-1) d^(1-p). Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for p in (2.0, 1.0, 0.9, 0.5):
    x = paddle.to_tensor([[3.0, 5.0], [1.0, 2.0]], dtype="float64", stop_gradient=False)
    a = np.array([2.0, 3.0])
    distance = (a**p).sum() ** (1 / p)
    slope = a ** (p - 1) * distance ** (1 - p)
    y = paddle.nn.functional.pdist(x, p=p).sum()
    got = paddle.grad(y, [x])[0].numpy()
    holds = np.allclose(got, [slope, -slope], rtol=1e-9)
    wrong |= not holds
    print(f"p = {p}: value {y.item()}, expected {slope.tolist()}, got {got[0].tolist()}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

"""The gradient of paddle.prod is NaN where an entry is 0.

    d(a b c)/da = b c: 6 for a = 0, b = 2, c = 3.

The rule divides the product by each entry (paddle/phi/kernels/funcs/reduce_functor.h, ProdGradFunctor). Prints expected and got, and exits with 1 while
they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)

x = paddle.to_tensor(np.array([0.0, 2.0, 3.0]), stop_gradient=False)
got = paddle.grad([paddle.prod(x)], [x])[0].numpy()
expected = np.array([6.0, 0.0, 0.0])
print(f"paddle {paddle.__version__}: expected {expected.tolist()}, got {got.tolist()}")
wrong = not np.array_equal(got, expected)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

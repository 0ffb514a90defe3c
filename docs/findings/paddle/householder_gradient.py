"""The gradient of paddle.linalg.householder_product and ormqr raises "modified by an inplace operation".

Of one reflector I - t v v^T with v = [1, a] the first column is [1 - t, -t a], so that the gradient of its sum is -t by a
and -(1 + a) by t. ormqr multiplies the whole reflector with a matrix: times [[1], [0]] it is the same column. A second t of 0 changes nothing.
Prints expected and got, and exits with 1 while it raises.
"""

import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

paddle.set_device("cpu")
print(f"paddle {paddle.__version__}")
unit = paddle.to_tensor([[1.0], [0.0]], dtype="float64")
wrong = False
for name, f in (
    ("householder_product", lambda v, t: paddle.linalg.householder_product(v, t)[:, 0]),
    ("ormqr", lambda v, t: paddle.linalg.ormqr(v, t, unit)),
):
    v = paddle.to_tensor([[1.0, 0.0], [0.5, 1.0]], dtype="float64")
    t = paddle.to_tensor([0.75, 0.0], dtype="float64")
    v.stop_gradient = t.stop_gradient = False
    column = f(v, t)
    try:
        by_v, by_t = paddle.grad([column.sum()], [v, t])
        got = [by_v.numpy()[1, 0].item(), by_t.numpy()[0].item()]
        wrong = wrong or not np.allclose(got, [-0.75, -1.5])
    except Exception as error:
        got, wrong = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}", True
    print(f"{name}: value {column.numpy().ravel().tolist()}, expected [-0.75, -1.5], got {got}")
sys.exit(int(wrong))

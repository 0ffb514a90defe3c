"""paddle.diagonal_scatter(x, y) has no gradient by y, and reads y as if it had the dtype of x.

The sum of diagonal_scatter(x, y) times [[1, 10], [100, 1000]] is y0 + 1000 y1 + 10 x01 + 100 x10. Prints expected and got; exits with 1 while they
differ.
"""

import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], "float64", stop_gradient=False)
y = paddle.to_tensor([5.0, 7.0], "float64", stop_gradient=False)
weights = paddle.to_tensor([[1.0, 10.0], [100.0, 1000.0]], "float64")
total = (paddle.diagonal_scatter(x, y) * weights).sum()
got = [None if g is None else g.tolist() for g in paddle.grad([total], [x, y], allow_unused=True)]
expected = [[[0.0, 10.0], [100.0, 0.0]], [1.0, 1000.0]]
print("gradients by x and y: expected", expected, "got", got)
wrong = got != expected
mixed = paddle.diagonal_scatter(paddle.zeros([2, 2], "float32"), y).diagonal().tolist()
print("the diagonal of float32 from float64: expected [5.0, 7.0], got", mixed)
wrong = wrong or mixed != [5.0, 7.0]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

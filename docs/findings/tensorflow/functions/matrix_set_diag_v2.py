"""The gradient of tf.raw_ops.MatrixSetDiagV2 by diagonals of several lengths takes them aligned to the other side.

The function is linear: the gradient of the sum of w * result by an entry of a diagonal is the w of the place where the
entry stands in the result. Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

x = tf.zeros((2, 2), tf.float64)
diagonals = tf.constant([[5.0, 6.0], [7.0, 8.0]], tf.float64)
w = tf.constant([[1.0, 10.0], [100.0, 1000.0]], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(diagonals)
    y = tf.raw_ops.MatrixSetDiagV2(input=x, diagonal=diagonals, k=(0, 1))
    total = tf.reduce_sum(w * y)
weight_of = {value: weight for value, weight in zip(y.numpy().ravel().tolist(), w.numpy().ravel().tolist())}
expected = [[weight_of.get(d, 0.0) for d in row] for row in diagonals.numpy().tolist()]
got = tape.gradient(total, diagonals).numpy().tolist()
wrong = got != expected
print(f"result {y.numpy().tolist()}; by the diagonals: expected {expected}, got {got}{'   wrong' if wrong else ''}")
sys.exit(int(wrong))

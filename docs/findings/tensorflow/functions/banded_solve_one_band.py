"""tf.linalg.banded_triangular_solve with one band, a diagonal matrix: the gradient lacks the axis of the bands.

The bands have the shape (1, 2), and so has the derivative of sum(b / d) by the diagonal d, -b / d^2.
Prints expected and got; exits with 1 while they differ.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy as np
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

bands, b = tf.constant([[2.0, 4.0]], tf.float64), tf.constant([[1.0], [3.0]], tf.float64)
expected = np.array([[-1.0 / 4.0, -3.0 / 16.0]])
with tf.GradientTape() as tape:
    tape.watch(bands)
    y = tf.reduce_sum(tf.linalg.banded_triangular_solve(bands, b))
got = tape.gradient(y, bands).numpy()
print(f"tensorflow {tf.__version__}: expected {expected.tolist()}, got {got.tolist()}")
wrong = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

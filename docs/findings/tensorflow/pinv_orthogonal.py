"""The gradient of tf.linalg.pinv is wrong where singular values repeat, as those of the identity and of rotations do; and for matrices of numbers around 1e-6.

The derivative of <W, inv(A)> is -inv(A)^T W inv(A)^T. Prints expected and got, and exits with 1 while they differ.
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

weights = np.array([[1.0, 2.0], [3.0, 4.0]])
wrong = False
for name, a in (
    ("a general matrix", np.array([[1.0, 0.5], [0.25, 2.0]])),
    ("the identity", np.eye(2)),
    ("a rotation", np.array([[0.6, 0.8], [-0.8, 0.6]])),
    ("1e-6 times a general matrix", 1e-6 * np.array([[1.0, 0.5], [0.25, 2.0]])),
):
    x = tf.constant(a)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.linalg.pinv(x) * weights)
    got = tape.gradient(y, x).numpy()
    inverse = np.linalg.inv(a)
    expected = -inverse.T @ weights @ inverse.T
    error = np.abs(got - expected).max() / np.abs(expected).max()
    print(f"{name}: expected {expected.tolist()}, got {got.tolist()}, relative error {error:.1e}")
    wrong = wrong or error > 1e-9
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

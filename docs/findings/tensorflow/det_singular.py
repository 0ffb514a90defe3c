"""The gradient of tf.linalg.det at a singular matrix raises, or is a wrong number where the determinant is rounded to something that is not 0.

TensorFlow computes det(A) inv(A)^T; the gradient is the cofactor matrix, which is defined at every matrix. Prints expected and got, and exits with 1 while they differ.
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


def cofactors(a):
    n = len(a)
    minors = [[np.delete(np.delete(a, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array([[(-1) ** (i + j) * (np.linalg.det(minors[i][j]) if n > 1 else 1.0) for j in range(n)] for i in range(n)])


wrong = False
b = np.array([[4.0, 0.0, -0.25], [-0.25, 0.0, 0.25], [-1.0, 0.0, 3.75]])
for a in (
    np.array([[1.0, 2.0], [2.0, 4.0]]),
    np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    b @ b.T + b,
    np.zeros((2, 2)),
):
    x = tf.constant(a)
    try:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.det(x)
        got = tape.gradient(y, x).numpy()
    except Exception as error:
        got = f"{type(error).__name__}: {str(error)[-80:]}"
    expected = cofactors(a)
    right = not isinstance(got, str) and np.abs(got - expected).max() <= 1e-9 * np.abs(expected).max()
    print(f"{a.tolist()}: expected {expected.tolist()}, got {got if isinstance(got, str) else got.tolist()}")
    wrong = wrong or not right
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

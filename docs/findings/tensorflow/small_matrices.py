"""Gradients by the vectors of tf.linalg.eigh and tf.linalg.svd are wrong for matrices of small numbers, and close to 0 for smaller ones.

1 / gap is computed as gap / (gap^2 + 1e-20). What is differentiated is the square of the first entry of the first vector of s A: it does not depend on s, so s times the
gradient does not either. For eigh it is (1 + cos t) / 2 or (1 - cos t) / 2 with tan t = 2 a12 / (a11 - a22); for svd the same of A A^T. Prints the largest error of s times the
gradient for several s, and exits with 1 while one is wrong.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy as np
    import tensorflow as tf
    from mpmath import diff, mp, mpf, sqrt
except ImportError as error:
    print(error)
    sys.exit(125)

mp.dps = 40


def square_of(a, b, d, largest):
    """The square of the first entry of the eigenvector of [[a, b], [b, d]] for the smallest or largest eigenvalue."""
    cosine = (a - d) / sqrt((a - d) ** 2 + 4 * b**2)
    return (1 + cosine) / 2 if largest else (1 - cosine) / 2


def by_eigh(a, b, c, d):
    return square_of(a, (b + c) / 2, d, False)


def by_svd(a, b, c, d):
    return square_of(a * a + b * b, a * c + b * d, c * c + d * d, True)


def expected(exact, entries):
    point = [mpf(e) for e in entries]
    return np.array([float(diff(exact, tuple(point), tuple(int(k == i) for i in range(4)))) for k in range(4)])


def got(f, entries, scale, dtype):
    x = tf.constant(np.reshape(entries, (2, 2)) * scale, dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy().ravel().astype(float) * scale


wrong = False
for name, f, exact, entries, scales in (
    (
        "eigh",
        lambda x: tf.square(tf.linalg.eigh((x + tf.transpose(x)) / 2)[1][0, 0]),
        by_eigh,
        (1.0, 0.5, 0.5, 2.0),
        (1.0, 1e-9, 1e-10, 1e-12),
    ),
    ("svd", lambda x: tf.square(tf.linalg.svd(x)[1][0, 0]), by_svd, (1.0, 0.5, 0.25, 2.0), (1.0, 1e-4, 1e-5, 1e-6)),
):
    right = expected(exact, entries)
    for dtype in ("float64", "float32"):
        for scale in scales:
            found = got(f, entries, scale, dtype)
            error = np.abs(found - right).max() / np.abs(right).max()
            print(f"{name}, {dtype}, s = {scale:g}: expected {right[0]:.12g}, got {found[0]:.12g}, relative error {error:.1e}")
            wrong = wrong or error > (1e-9 if dtype == "float64" else 1e-3)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

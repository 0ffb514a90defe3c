"""The gradient of tf.nn.isotonic_regression of a vector.

Of (4, 0.7, 2) in decreasing order the last two become their mean 1.35, so the gradient of the second output is
(0, 1/2, 1/2). Prints expected and got; exits with 1 while they differ.
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

x = tf.constant([4.0, 0.7, 2.0], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.nn.isotonic_regression(x)[0][1]
got = tape.gradient(y, x).numpy()
expected = np.array([0.0, 0.5, 0.5])
print("expected", expected.tolist(), "of shape", expected.shape)
print("got     ", got.tolist(), "of shape", got.shape)
wrong = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

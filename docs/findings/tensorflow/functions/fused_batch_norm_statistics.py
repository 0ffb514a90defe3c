"""The mean and the variance that a fused batch normalization returns have no gradient.

Of 1, 2, 4, 9 the mean has the gradient 1/4, and the variance, with n - 1 = 3 below, 2 (x - 4) / 3 = (-2, -4/3, 0, 10/3).
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

x = tf.constant([1.0, 2.0, 4.0, 9.0])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    image = tf.reshape(x, [1, 1, 4, 1])
    y, mean, variance = tf.compat.v1.nn.fused_batch_norm(image, [1.0], [0.0])[:3]
wrong = False
for name, output, value, expected in (
    ("mean", mean, 4.0, [0.25, 0.25, 0.25, 0.25]),
    ("variance", variance, 38.0 / 3.0, [-2.0, -4.0 / 3.0, 0.0, 10.0 / 3.0]),
):
    assert np.allclose(output.numpy(), value, rtol=1e-6)
    slope = tape.gradient(output, x)
    got = None if slope is None else slope.numpy().tolist()
    print(f"{name}: expected {expected}, got {got}")
    wrong = wrong or got is None or not np.allclose(got, expected, rtol=1e-5)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

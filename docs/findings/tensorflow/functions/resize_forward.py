"""Forward mode of tf.image.resize, which is linear: its derivative along v is v, resized.

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

image = tf.constant([[[[1.0], [2.0], [4.0], [8.0]]]])
direction = tf.constant([[[[1.0], [0.0], [0.0], [2.0]]]])
with tf.autodiff.ForwardAccumulator(image, direction) as accumulator:
    resized = tf.image.resize(image, [1, 8])
    total = tf.reduce_sum(resized) + tf.reduce_sum(image)
found = accumulator.jvp(resized)
expected = tf.image.resize(direction, [1, 8])
print("expected", expected.numpy().ravel().tolist())
print("got     ", None if found is None else found.numpy().ravel().tolist())
of_sum = float(tf.reduce_sum(expected) + tf.reduce_sum(direction))
got = float(accumulator.jvp(total))
print("of the sum of both images: expected", of_sum, "got", got)
wrong = not np.isclose(got, of_sum, rtol=1e-6)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

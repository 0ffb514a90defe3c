"""tf.nn.compute_average_loss of float64 losses with weights.

The mean of three losses has the gradient (1/3, 1/3, 1/3), whatever the weights are, if they are all 1. Prints
expected and got; exits with 1 while they differ by more than float64 allows.
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

losses = tf.constant([1.0 / 3.0, 1.0, 1.0], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(losses)
    mean = tf.nn.compute_average_loss(losses, sample_weight=1.0)
got = tape.gradient(mean, losses).numpy()
expected = np.full(3, 1.0 / 3.0)
print("value:    expected", 7.0 / 9.0, "got", mean.numpy())
print("gradient: expected", expected.tolist(), "got", got.tolist())
wrong = not np.allclose(got, expected, rtol=1e-14, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The Hessian of the variance that tf.nn.moments returns.

The variance of n numbers has the gradient 2 (x - mean) / n and the Hessian 2 (I - 1/n) / n. Prints expected and
got; exits with 1 while they differ.
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

x = tf.constant([1.0, 2.0, 4.0], tf.float64)
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        variance = tf.nn.moments(x, [0])[1]
    gradient = inner.gradient(variance, x)
got = outer.jacobian(gradient, x).numpy()
expected = 2.0 * (np.eye(3) - 1.0 / 3.0) / 3.0
print("gradient", gradient.numpy(), "which is right")
print("expected", expected.tolist())
print("got     ", got.tolist())
wrong = not np.allclose(got, expected, rtol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""tf.math.cumulative_logsumexp, reverse over forward mode: NaN at ordinary numbers.

Moved along ones, every entry moves by 1, whatever x is: the derivative of the sum of these by x is 0. Forward over reverse mode says so.
Prints expected and got; exits with 1 while they differ.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

x = tf.constant([1.0, 2.0, 0.5], tf.float64)
ones = tf.ones_like(x)
with tf.GradientTape() as tape:
    tape.watch(x)
    with tf.autodiff.ForwardAccumulator(x, ones) as forward:
        y = tf.math.cumulative_logsumexp(x)
    moved = forward.jvp(y)
    total = tf.reduce_sum(moved)
got = tape.gradient(total, x).numpy()
with tf.autodiff.ForwardAccumulator(x, ones) as forward:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.cumulative_logsumexp(x))
    gradient = tape.gradient(y, x)
other = forward.jvp(gradient).numpy()
print(f"tensorflow {tf.__version__}: expected [0, 0, 0], got {got.tolist()}; forward over reverse: {other.tolist()}")
wrong = not (abs(got) < 1e-12).all()
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

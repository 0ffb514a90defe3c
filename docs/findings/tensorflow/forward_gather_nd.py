"""Forward mode of tf.gather_nd by places of one index raises, as its gradient is an IndexedSlices; so does forward over reverse of tf.tensor_scatter_nd_update.

The sum of the squares of the entries 2 and 0 of x has the slope 2 (x[2] + x[0]) along (1, 1, 1). Prints expected and got, and exits with 1 while they differ.
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

x = tf.constant([0.5, 2.0, 3.0], tf.float64)
one = tf.ones_like(x)


def gathered():
    with tf.autodiff.ForwardAccumulator(x, one) as accumulator:
        y = tf.reduce_sum(tf.square(tf.gather_nd(x, [[2], [0]])))
    return accumulator.jvp(y).numpy()


def updated():
    """d/dx of the slope of x0^2 + x1^2 + x0^4."""
    with tf.autodiff.ForwardAccumulator(x, one) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(tf.tensor_scatter_nd_update(x, [[2]], tf.square(x[:1]))))
        slopes = tf.convert_to_tensor(tape.gradient(y, x))
    return accumulator.jvp(slopes).numpy()


wrong = False
for name, ask, expected in (
    ("gather_nd, forward mode", gathered, 2 * (3.0 + 0.5)),
    ("tensor_scatter_nd_update, forward over reverse", updated, [2.0 + 12.0 * 0.25, 2.0, 0.0]),
):
    try:
        got = ask()
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
    print(f"{name}: expected {expected}, got {got}")
    wrong = wrong or isinstance(got, str) or not np.allclose(got, expected, rtol=1e-14, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

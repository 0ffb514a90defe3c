"""The gradient of tf.math.cumprod is 0 by an entry that is 0, and so is half of the Hessian of tf.reduce_prod.

Both are polynomials: the sum of cumprod([a, b, c]) is a + ab + abc, the product is abc. Prints expected and got at [2, 0, 3], and exits with 1 while they differ.
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

a, b, c = 2.0, 0.0, 3.0
x = tf.constant([a, b, c], tf.float64)


def gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def hessian(f, x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        slopes = tf.unstack(gradient(f, x))
    return np.array([tape.gradient(s, x).numpy() for s in slopes])


wrong = False
for name, got, expected in (
    (
        "gradient of sum(cumprod(x))",
        gradient(lambda x: tf.reduce_sum(tf.math.cumprod(x)), x).numpy(),
        [1 + b + b * c, a + a * c, a * b],
    ),
    ("Hessian of reduce_prod(x)", hessian(tf.reduce_prod, x), [[0, c, b], [c, 0, a], [b, a, 0]]),
):
    print(f"{name}: expected {np.array(expected, float).tolist()}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected, rtol=1e-14, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

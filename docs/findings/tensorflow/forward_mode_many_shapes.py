"""Forward mode of tf.linalg.qr and tf.linalg.svd raises after 32 shapes: from then on TensorFlow traces their gradients with unknown shapes, which these refuse or mistake.

The 33 questions are alike but for the number of rows: f(A) is the squared norm of r, or of the singular values, which is that of A, so its slope along V is 2 <A, V>. Prints the first
shape that goes wrong, and exits with 1 while there is one.
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

rng = np.random.default_rng(0)
wrong = False
for name, f in (
    ("qr", lambda x: tf.reduce_sum(tf.square(tf.linalg.qr(x)[1]))),
    ("svd", lambda x: tf.reduce_sum(tf.square(tf.linalg.svd(x)[0]))),
):
    for rows in range(2, 40):
        a = rng.normal(size=(rows, 2))
        x = tf.constant(a)
        try:
            with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
                y = f(x)
            got = float(accumulator.jvp(y))
        except Exception as error:
            got = f"{type(error).__name__}: {str(error).splitlines()[-1][:120]}"
        expected = 2 * a.sum()
        if isinstance(got, str) or abs(got - expected) > 1e-9 * np.abs(a).sum():
            print(f"{name} of shape ({rows}, 2), after {rows - 2} other shapes: expected {expected!r}, got {got}")
            wrong = True
            break
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

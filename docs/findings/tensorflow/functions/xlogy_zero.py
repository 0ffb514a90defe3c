"""tf.math.xlogy, xlog1py and xdivy at x = 0: the derivative by x is 0.

x log(y), x log(1 + y) and x / y are linear in x; at y = 1/2 their derivatives by x are log(1/2), log(3/2) and 2, whatever x is.
Prints expected and got; exits with 1 while they differ.
"""

import math
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for f, expected in ((tf.math.xlogy, math.log(0.5)), (tf.math.xlog1py, math.log(1.5)), (tf.math.xdivy, 2.0)):
    for at in (1.0, 0.0):
        x, y = tf.constant(at, tf.float64), tf.constant(0.5, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = f(x, y)
        got = tape.gradient(z, x).numpy().item()
        print(f"{f.__name__} at x = {at}: expected {expected}, got {got}")
        wrong = wrong or abs(got - expected) > 1e-14
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

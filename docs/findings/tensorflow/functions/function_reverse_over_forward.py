"""Reverse mode over forward mode of a tf.function.

x^3 has the second derivative 6 x. tf.function(f) has none by these modes, though f itself has, and though reverse
mode over reverse mode of the function is right. Prints expected and got; exits with 1 while they differ.
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


def cube(x):
    return x * x * x


def second(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = f(x)
        slope = accumulator.jvp(y)
    try:
        found = tape.gradient(slope, x)
    except tf.errors.OpError as error:
        return error.message
    except TypeError as error:  # TensorFlow's own error cannot be made
        return str(error)
    return None if found is None else found.numpy()


x = tf.constant(0.5, tf.float64)
expected = 6.0 * 0.5
wrong = False
for name, f in (("f itself", cube), ("tf.function(f)", tf.function(cube))):
    got = second(f, x)
    print(f"{name}: expected {expected}, got {got}")
    wrong = wrong or not isinstance(got, np.float64) or not np.isclose(got, expected, rtol=1e-12)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

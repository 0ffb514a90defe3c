"""tf.nn.convolution without a data_format: gradients over three axes, and second derivatives over two, raise AttributeError.

The convolution of ones with a filter of ones of the same size is the sum of the entries, with the gradient 1. Its square has the Hessian 2 everywhere, and so
2 * 4 = 8 along ones for four entries. With data_format given, and in a tf.function, it is right.
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


def first(how):
    x, kernel = tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 1, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.nn.convolution(x, kernel, **how))
    return tape.gradient(y, x)


def second(how):
    x, kernel = tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.nn.convolution(x, kernel, **how) ** 2)
        slope = tf.reduce_sum(inner.gradient(y, x))
    return outer.gradient(slope, x)


wrong = False
for name, f, form, expected in (("gradient, three axes", first, "NDHWC", 1.0), ("second derivative, two axes", second, "NHWC", 8.0)):
    for how in ({"data_format": form}, {}):
        try:
            got = sorted(set(f(how).numpy().ravel().tolist()))
        except AttributeError as error:
            got = f"AttributeError: {error}"
        print(f"{name}, {how}: expected {[expected]}, got {got}")
        wrong = wrong or got != [expected]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Reverse mode over forward mode of a tf.function.

The slope of x^3 along 1 is 3 x^2, with the gradient 6 x; that of x y along (1, 1) is x + y, with the gradient
1 by each. Prints expected and got, also without tf.function; exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)


def cube(x):
    return x * x * x


def product(x, y):
    return x * y


def slope_gradient(f, *xs):
    with tf.GradientTape() as tape:
        tape.watch(xs)
        with tf.autodiff.ForwardAccumulator(list(xs), [tf.ones_like(x) for x in xs]) as forward:
            y = f(*xs)
        slope = forward.jvp(y)
    try:
        found = tape.gradient(slope, xs, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    except tf.errors.InternalError as error:
        return f"InternalError: {str(error)[:90]}"
    return [float(g) for g in found]


half, two = tf.constant(0.5, tf.float64), tf.constant(2.0, tf.float64)
wrong = False
for f, xs, expected in ((cube, (half,), [3.0]), (product, (half, two), [1.0, 1.0])):
    for way in (f, tf.function(f, autograph=False)):
        got = slope_gradient(way, *xs)
        print(f"{f.__name__}, {'plain' if way is f else 'tf.function'}: expected {expected}, got {got}")
        wrong = wrong or got != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Forward mode over forward mode is wrong in TensorFlow's eager execution where one op is used twice, the first time with one tensor as both operands.

x^6 as y = x * x, z = y * y, z * y, by nested tf.autodiff.ForwardAccumulator; and sin(x)^3 in the same way, and the reverse of both. Inside a tf.function it is right.
Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
    from mpmath import diff, mp, mpf, sin
except ImportError as error:
    print(error)
    sys.exit(125)

mp.dps = 40
x, one = tf.constant(0.5, tf.float64), tf.constant(1.0, tf.float64)


def sixth(x):
    y = x * x
    z = y * y
    return z * y


def cube(x):
    y = tf.sin(x)
    return (y * y) * y


def twice(f, x):
    with tf.autodiff.ForwardAccumulator(x, one) as outer:
        with tf.autodiff.ForwardAccumulator(x, one) as inner:
            y = f(x)
        slope = inner.jvp(y)
    return outer.jvp(slope)


def reverse(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = twice(f, x)
    return tape.gradient(y, x)


wrong = False
for name, f, exact in (("x^6", sixth, lambda x: x**6), ("sin(x)^3", cube, lambda x: sin(x) ** 3)):
    for what, order, ask in (
        ("eager", 2, lambda f: twice(f, x)),
        ("in tf.function", 2, lambda f: tf.function(lambda x: twice(f, x))(x)),
        ("eager, reverse over it", 3, lambda f: reverse(f, x)),
    ):
        expected = float(diff(exact, mpf("0.5"), order))
        try:
            got = float(ask(f))
        except Exception as error:
            got = f"{type(error).__name__}: {str(error)[:100]}"
        right = isinstance(got, float) and abs(got - expected) <= 1e-12 * abs(expected)
        wrong = wrong or not right
        print(f"{name}, derivative of order {order}, {what}: expected {expected!r}, got {got!r}{'' if right else '  <-'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

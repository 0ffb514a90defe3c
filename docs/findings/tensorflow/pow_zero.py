"""Derivatives of x ** n by TensorFlow are NaN at x = 0 as soon as they are derivatives of a constant: 0 x^-1 is computed.

x ** 0 at first order, x ** 1 at second, x ** 2 at third; all three are 0. Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)


def derivative(f):
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return slope


wrong = False
for n, order in ((0.0, 1), (1.0, 2), (2.0, 3)):
    f = lambda x: x**n
    for _ in range(order):
        f = derivative(f)
    got = float(f(tf.constant(0.0, tf.float64)))
    print(f"x ** {n}, derivative of order {order} at 0: expected 0.0, got {got}")
    wrong = wrong or got != 0.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

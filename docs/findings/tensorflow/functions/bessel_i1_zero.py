"""tf.math.bessel_i1 at 0: the derivative is 1, and the next one NaN; so the second derivative of bessel_i0 is 1 there, too.
Next to 0 the second derivative of bessel_i1 loses its digits.

I0 = 1 + x^2 / 4 + ..., and I1 = x / 2 + x^3 / 16 + ... is its derivative: I1'(0) = I0''(0) = 1/2, and I1''(0) = 0. At a
small x, I1''(x) is 3 x / 8 to all digits.
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


def derivatives(f, x):
    x = tf.constant(x, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return float(first), float(outer.gradient(first, x))


wrong = False
for name, expected in (("bessel_i0", (0.0, 0.5)), ("bessel_i1", (0.5, 0.0))):
    got = derivatives(getattr(tf.math, name), 0.0)
    print(f"tensorflow {tf.__version__}, {name} at 0, first and second derivative: expected {expected}, got {got}")
    wrong = wrong or not all(abs(a - b) < 1e-12 for a, b in zip(got, expected))
for x in (1e-6, 4e-8):
    got, expected = derivatives(tf.math.bessel_i1, x)[1], 3.0 * x / 8.0
    print(f"bessel_i1 at {x}, second derivative: expected {expected:.6g}, got {got:.6g}")
    wrong = wrong or not abs(got - expected) < 1e-6 * expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Gradients of functions of a complex number z = x + iy, of which the real part is taken.

Of an analytic f the gradient of Re f(z) by (x, y) is (Re f'(z), -Im f'(z)). squared_difference(z, 0) is |z|^2, and
the gradient of Re(c |z|^2) is 2 Re(c) (x, y). Prints expected and got; exits with 1 while they differ.
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

z, c = 0.5 + 1.25j, 1.0 + 2.0j
constant = tf.constant(c, tf.complex128)


def solved(z):
    """c / z, as a tridiagonal system of one equation."""
    return tf.linalg.tridiagonal_solve(tf.reshape(tf.stack([0 * z, z, 0 * z]), [3, 1]), constant[None])[0]


part = (c * z).real / abs(z) ** 3  # z / |z| is not analytic: d/dx and d/dy of Re(c z) / |z|, one by one
sign = complex(c.real / abs(z) - part * z.real, -(-c.imag / abs(z) - part * z.imag))
CASES = (
    ("squared_difference", lambda z: constant * tf.math.squared_difference(z, 0 * z), 2 * c.real * z.conjugate()),
    ("xlogy", lambda z: tf.math.xlogy(constant, z), c / z),
    ("multiply_no_nan", lambda z: tf.math.multiply_no_nan(constant, z), c),
    ("raw_ops.Sign", lambda z: constant * tf.raw_ops.Sign(x=z), sign),
    ("xlog1py", lambda z: tf.math.xlog1py(constant, z), c / (1 + z)),
    ("xdivy", lambda z: tf.math.xdivy(constant, z), -c / z**2),
    ("tridiagonal_solve", solved, -c / z**2),
    ("log, which is right", tf.math.log, 1 / z),
)
wrong = False
for name, f, slope in CASES:
    x = tf.constant([z.real, z.imag], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.real(f(tf.complex(x[0], x[1])))
    got = tape.gradient(y, x).numpy()
    expected = np.array([slope.real, -slope.imag])
    print(f"{name}: expected {expected.tolist()}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected, rtol=1e-12, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""tf.linalg.sqrtm of a complex matrix: the gradient is that of the matrix and not of its conjugate.

Of an analytic f the gradient of Re(c f(z)) by z = x + iy is (Re(c f'(z)), -Im(c f'(z))). The matrix is [[z]], and its root [[sqrt(z)]] with the slope
1 / (2 sqrt(z)). tf.sqrt is right. Prints expected and got; exits with 1 while they differ.
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

z, c = 1.0 + 2.0j, 2.0 + 1.0j
slope = c / (2.0 * np.sqrt(z))
expected = np.array([slope.real, -slope.imag])
wrong = False
for name, f in (("sqrt", tf.sqrt), ("sqrtm", lambda z: tf.linalg.sqrtm(z[None, None])[0, 0])):
    x = tf.constant([z.real, z.imag], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.real(tf.constant(c, tf.complex128) * f(tf.complex(x[0], x[1])))
    got = tape.gradient(y, x).numpy()
    print(f"tensorflow {tf.__version__}, {name}: expected {expected.tolist()}, got {got.tolist()}")
    wrong = wrong or not np.allclose(got, expected, rtol=1e-12, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

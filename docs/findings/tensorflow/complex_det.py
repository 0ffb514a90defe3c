"""Gradients of tf.linalg.det, tf.math.cumprod and the sign of tf.linalg.slogdet are wrong for complex numbers.

    det [[x + iy]]: the imaginary part is y, 1 by y.
    Re (1 + iy)(1 + iz) = 1 - yz: (-1/2, -1/2) at y = z = 1/2.
    sign [[x + i]] = (x + i) / |x + i|: the imaginary part by x is -x (x^2 + 1)^(-3/2).

The rules of det and cumprod multiply by the result where it has to be its conjugate (ops/linalg_grad.py, ops/math_grad.py); that of slogdet drops the
cotangent of the sign. Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
try:
    import tensorflow as tf
except ImportError:
    sys.exit(125)


def det(y):
    return tf.math.imag(tf.linalg.det(tf.complex(tf.ones_like(y), y)))


def cumprod(y):
    return tf.math.real(tf.math.cumprod(tf.complex(tf.ones_like(y), y))[1])


def sign(x):
    return tf.math.imag(tf.linalg.slogdet(tf.complex(x, tf.ones_like(x)))[0])


wrong = False
for f, x, expected in (
    (det, [[2.0]], [1.0]),
    (cumprod, [0.5, 0.5], [-0.5, -0.5]),
    (sign, [[0.5]], [-0.5 * 1.25**-1.5]),
):
    point = tf.constant(x, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(point)
        y = f(point)
    got = tape.gradient(y, point).numpy().ravel().tolist()
    print(f"tensorflow {tf.__version__}: {f.__name__}: expected {expected}, got {got}")
    wrong = wrong or any(abs(a - b) > 1e-9 for a, b in zip(got, expected, strict=True))
sys.exit(1 if wrong else 0)

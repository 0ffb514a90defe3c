"""The gradient of tf.nn.silu of a complex number misses a conjugate.

By TensorFlow's documents the gradient of the real part of f is the conjugate of f', as it is of z * sigmoid(z), which is
the same function. Prints expected and got, and exits with 1 while they differ.
"""

import cmath
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

z = -1.0 + 0.5j
s = 1.0 / (1.0 + cmath.exp(-z))
expected = (s + z * s * (1.0 - s)).conjugate()
wrong = False
for name, f in (("z * sigmoid(z)", lambda z: z * tf.sigmoid(z)), ("silu(z)", tf.nn.silu)):
    point = tf.constant(z, tf.complex128)
    with tf.GradientTape() as tape:
        tape.watch(point)
        y = tf.math.real(f(point))
    got = complex(tape.gradient(y, point).numpy())
    holds = abs(got - expected) < 1e-12
    wrong |= not holds
    print(f"{name}: expected {expected:.6g}, got {got:.6g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

"""Under XLA the eigenvalues of a complex matrix by tf.linalg.eigh are what lies in memory, read with another type.

    diag(1, 2) has the eigenvalues 1 and 2.

The first comes back as 1 + 2i: the real eigenvalues fill the first half of an array of complex ones. Prints expected and got, and exits with 1 while they
differ.
"""

import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
try:
    import tensorflow as tf
except ImportError:
    sys.exit(125)

x = tf.constant([[1.0, 0.0], [0.0, 2.0]], tf.complex128)
expected = tf.linalg.eigh(x)[0].numpy().tolist()
got = tf.function(lambda x: tf.linalg.eigh(x)[0], jit_compile=True)(x).numpy().tolist()
print(f"tensorflow {tf.__version__}: expected {expected}, got {got}")
sys.exit(0 if all(abs(a - b) < 1e-9 for a, b in zip(got, expected, strict=True)) else 1)

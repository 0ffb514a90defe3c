"""The gradient of tf.nn.fractional_max_pool with a ratio of 1 raises; by the documents a ratio is at least 1.

Each region is one entry then, and the gradient of the sum is 1 everywhere. tf.nn.fractional_avg_pool returns it.
Prints expected and got, and exits with 1 while it raises.
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

x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1))
wrong = False
print(f"tensorflow {tf.__version__}")
for name in ("fractional_avg_pool", "fractional_max_pool"):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(tf.nn, name)(x, [1.0, 1.0, 1.0, 1.0], pseudo_random=True, seed=1)[0]
    try:
        got = tape.gradient(y, x).numpy()
        holds = np.array_equal(got, np.ones_like(got))
        got = "ones" if holds else got.tolist()
    except Exception as error:
        message = str(error).split("}}")[-1].strip()
        got, holds = f"{type(error).__name__}: {message[:60]}", False
    wrong = wrong or not holds
    print(f"{name}: value {'right' if np.array_equal(y, x) else 'wrong'}, gradient expected ones, got {got}")
sys.exit(int(wrong))

"""The gradient of tf.math.reduce_std of one number is NaN.

The deviation of one number is 0 whatever it is, and so is its derivative. Prints expected and got, and exits with 1 while
they differ.
"""

import sys

try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, axis, numbers in (("a number", None, 0.5), ("a vector", None, [0.5]), ("columns", 0, [[0.5, 2.0]])):
    x = tf.constant(numbers, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.reduce_std(x, axis=axis))
    got = tape.gradient(y, x).numpy()
    holds = bool((got == 0).all())
    wrong |= not holds
    print(f"{name}: value {float(y)}, expected 0, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

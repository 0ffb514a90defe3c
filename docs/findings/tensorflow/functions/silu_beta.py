"""The gradient of tf.nn.silu(x, beta) where beta is no scalar.

x sigmoid(beta x) has the slope x^2 s (1 - s) by beta and s (1 + beta x (1 - s)) by x, s = sigmoid(beta x); where one
of the two is broadcast, its slopes are summed. Prints expected and got; exits with 1 while they differ.
"""

import math
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)


def slopes(x, beta):
    s = 1.0 / (1.0 + math.exp(-beta * x))
    return s * (1.0 + beta * x * (1.0 - s)), x * x * s * (1.0 - s)


xs, betas = [1.0, 2.0], [0.5, 1.0]
both = [slopes(x, beta) for x, beta in zip(xs, betas)]
one = [slopes(1.0, beta) for beta in betas]
cases = {
    "x and beta of 2 numbers": (xs, betas, [a for a, _ in both], [b for _, b in both]),
    "one number, beta of 2": (1.0, betas, sum(a for a, _ in one), [b for _, b in one]),
}
wrong = False
for name, (x, beta, by_x, by_beta) in cases.items():
    x, beta = tf.constant(x, tf.float64), tf.constant(beta, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([x, beta])
        y = tf.reduce_sum(tf.nn.silu(x, beta))
    for which, got, expected in zip(("x", "beta"), tape.gradient(y, [x, beta]), (by_x, by_beta)):
        expected = tf.constant(expected, tf.float64)
        holds = got.shape == expected.shape and bool(tf.reduce_all(tf.abs(got - expected) < 1e-12))
        wrong = wrong or not holds
        print(f"{name}, by {which}: expected {expected.numpy().tolist()}, got {got.numpy().tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

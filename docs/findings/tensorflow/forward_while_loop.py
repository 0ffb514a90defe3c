"""Forward mode over forward mode, and reverse over forward, of a tf.while_loop in a tf.function raise or are wrong.

x^3 as three trips of acc = acc * x from 1; as three trips from x of acc = acc * acc, x^8; and a loop of two carries. Prints expected and got of every mix of modes, innermost first,
and exits with 1 while they differ.
"""

import itertools
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
    from mpmath import diff, mp, mpf, sin
except ImportError as error:
    print(error)
    sys.exit(125)

mp.dps = 40
one = tf.constant(1.0, tf.float64)


def loop(body, *start):
    found = tf.while_loop(lambda i, *carries: i < 3, lambda i, *carries: (i + 1, *body(*carries)), (tf.constant(0), *start))
    return found[-1]


def two(x):
    a, b = x, mpf(1)
    for _ in range(3):
        a, b = sin(b * x), a * (x - b)
    return b


def forward(f):
    def slope(x):
        with tf.autodiff.ForwardAccumulator(x, one) as accumulator:
            y = f(x)
        return accumulator.jvp(y, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return slope


def reverse(f):
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return slope


wrong = False
for name, f, exact in (
    ("x^3", lambda x: loop(lambda acc: (acc * x,), one), lambda x: x**3),
    ("x^8", lambda x: loop(lambda acc: (acc * acc,), x), lambda x: x**8),
    ("two carries", lambda x: loop(lambda a, b: (tf.sin(b * x), a * (x - b)), x, one), two),
):
    for order in (1, 2):
        expected = float(diff(exact, mpf("0.5"), order))
        for modes in itertools.product((reverse, forward), repeat=order):
            g = f
            for mode in modes:
                g = mode(g)
            try:
                got = float(tf.function(g, autograph=False)(tf.constant(0.5, tf.float64)))
            except Exception as error:
                got = f"{type(error).__name__}: {str(error).splitlines()[0][:110]}"
            right = isinstance(got, float) and abs(got - expected) <= 1e-10 * max(1.0, abs(expected))
            wrong = wrong or not right
            print(f"{name}, {'-'.join(m.__name__ for m in modes)}: expected {expected:.15g}, got {got}{'' if right else '  <-'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

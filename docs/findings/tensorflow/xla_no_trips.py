"""A tf.while_loop with maximum_iterations=0, compiled by XLA: its gradient raises, and in forward mode the process dies of a segmentation fault.

The loop makes no trip, so its result is 1 and its derivative 0, as without jit_compile. Each question is put in a process of its own. Prints expected and got, and exits with 1 while
they differ.
"""

import os
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

one = tf.constant(1.0, tf.float64)


def f(x):
    return tf.while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * x), (tf.constant(0), one), maximum_iterations=0)[1]


def reverse(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def forward(x):
    with tf.autodiff.ForwardAccumulator(x, one) as accumulator:
        y = f(x)
    return accumulator.jvp(y, unconnected_gradients=tf.UnconnectedGradients.ZERO)


if len(sys.argv) > 1:
    g = {"reverse": reverse, "forward": forward}[sys.argv[1]]
    print(float(tf.function(g, autograph=False, jit_compile=sys.argv[2] == "XLA")(tf.constant(0.5, tf.float64))))
    sys.exit(0)
wrong = False
for mode in ("reverse", "forward"):
    for how in ("graph", "XLA"):
        run = subprocess.run([sys.executable, __file__, mode, how], capture_output=True, text=True)
        lines = (run.stderr.strip() or " ").splitlines()
        got = run.stdout.strip() if run.returncode == 0 else f"exit code {run.returncode}: {next((n for n in lines if 'Error' in n), lines[-1])[:120]}"
        print(f"{mode}, {how}: expected 0.0, got {got}")
        wrong = wrong or got != "0.0"
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

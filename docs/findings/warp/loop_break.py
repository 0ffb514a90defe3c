"""The adjoint of a dynamic loop that is left by `break`, or goes on by `continue`: terms of a plain sum are lost, and terms that were never added appear.

Warp's manual says that a dynamic loop is differentiated right where nothing that it computes in a local variable is needed on the way back, and gives a sum
as its example. Here are sums, left after three trips by `break`, and with a `continue` at the end of trip 1. The numbers added are a constant times the input, so
every derivative is a constant. The backward kernel runs over all trips of the range, from the last one, and jumps at `break` and `continue` as the forward one does.
Prints expected and got, and exits with 1 while they differ, 125 where Warp is missing.
"""

import sys

import numpy as np

try:
    import warp as wp
except ImportError:
    sys.exit(125)

wp.config.quiet = True
wp.init()


@wp.kernel
def left(x: wp.array(dtype=wp.float64), n: int, y: wp.array(dtype=wp.float64)):
    s = wp.float64(0.0)
    for i in range(n):
        if i == 3:
            break
        s += x[i]
    y[0] = s


@wp.kernel
def skipped(x: wp.array(dtype=wp.float64), n: int, y: wp.array(dtype=wp.float64)):
    s = wp.float64(0.0)
    for i in range(n):
        s += x[i]
        if i == 1:
            continue
        s += wp.float64(2.0) * x[i]
    y[0] = s


@wp.kernel
def added(x: wp.array(dtype=wp.float64), n: int, y: wp.array(dtype=wp.float64)):
    s = wp.float64(0.0)
    for i in range(n):
        s += x[i]
    y[0] = s


wrong = False
for kernel, expected in ((added, [1.0] * 5), (left, [1.0, 1.0, 1.0, 0.0, 0.0]), (skipped, [3.0, 1.0, 3.0, 3.0, 3.0])):
    x = wp.array([0.5, 0.25, 2.0, 3.0, 4.0], dtype=wp.float64, device="cpu", requires_grad=True)
    y = wp.zeros(1, dtype=wp.float64, device="cpu", requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x, 5], outputs=[y], device="cpu")
    tape.backward(y)
    got = x.grad.numpy().tolist()
    value = y.numpy()[0] == float(np.dot(expected, x.numpy()))
    holds = value and got == expected
    wrong = wrong or not holds
    print(f"{kernel.key}: value {'right' if value else 'wrong'}, expected {expected}, got {got}{'' if holds else '   wrong'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""The derivatives of the vectors of wp.eig3 and wp.svd3 where the matrix is small: a gap below an absolute bound is replaced by it.

Both are homogeneous: at t * a the vectors are the same as at a, and their derivatives are those at a, divided by t. The bounds are 1e-6 for the difference of two
eigenvalues, in float64 too, and 1e-12 (float64) or 1e-6 (float32) for the difference of two squared singular values.
Prints expected and got, and exits with 1 while they differ, 125 where Warp is missing.
"""

import sys

import numpy as np
from mpmath import eigsy, matrix, mp, mpf, svd_r

try:
    import warp as wp
except ImportError:
    sys.exit(125)

wp.config.quiet = True
wp.init()
mp.dps = 60
F = wp.float64
M = wp.types.matrix((3, 3), F)


@wp.kernel
def symmetric(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    a = M(x[0], x[1], x[2], x[1], x[3], x[4], x[2], x[4], x[5])
    q, d = wp.eig3(a)
    if d[1] > d[0] and d[1] > d[2]:
        y[0] = q[0, 1] * q[0, 1]
    elif d[2] > d[0]:
        y[0] = q[0, 2] * q[0, 2]
    else:
        y[0] = q[0, 0] * q[0, 0]


@wp.kernel
def singular(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    a = M(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8])
    u, s, v = wp.svd3(a)
    y[0] = u[0, 0] * u[0, 0]


def largest(x):
    a = matrix([[x[0], x[1], x[2]], [x[1], x[3], x[4]], [x[2], x[4], x[5]]])
    _, q = eigsy(a)  # in ascending order
    return q[0, 2] ** 2


def left(x):
    u, _, _ = svd_r(matrix([x[0:3], x[3:6], x[6:9]]))
    return u[0, 0] ** 2


def slope(f, x, k):
    h = x[k] * mpf(10) ** -20
    up, down = list(x), list(x)
    up[k] += h
    down[k] -= h
    return float((f(up) - f(down)) / (2 * h))


SYMMETRIC = [3.0, 0.5, -0.25, 2.0, 0.75, 1.0]
SQUARE = [3.0, 0.5, -0.25, 1.0, 2.0, 0.75, 0.5, -0.5, 1.0]
wrong = False
for kernel, truth, numbers in ((symmetric, largest, SYMMETRIC), (singular, left, SQUARE)):
    for scale in (1.0, 2.0**-30):
        host = np.array(numbers) * scale
        x = wp.array(host, dtype=F, device="cpu", requires_grad=True)
        y = wp.zeros(1, dtype=F, device="cpu", requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, dim=1, inputs=[x], outputs=[y], device="cpu")
        tape.backward(y)
        exact = [mpf(float(v)) for v in host]
        expected, got = slope(truth, exact, 0), float(x.grad.numpy()[0])
        holds = abs(got - expected) <= 1e-6 * abs(expected)
        wrong = wrong or not holds
        print(
            f"{kernel.key}, scale {scale:g}: value {y.numpy()[0]:.12g}, expected {expected!r}, got {got!r}{'' if holds else '   wrong'}"
        )
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

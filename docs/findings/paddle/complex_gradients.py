"""Gradients of paddle.pow, prod, linalg.slogdet and linalg.svd are wrong for complex numbers.

    Im (x + i)^2 = 2x: 2 by x, with a complex exponent.
    Re (1 + iy)(1 + iz) = 1 - yz: (-1/2, -1/2) at y = z = 1/2.
    slogdet [[x + i]]: the sign is (x + i) / |x + i|, whose imaginary part by x is -x (x^2 + 1)^(-3/2).
    svd of X + i Y: Re sum of u diag(1, -2) vh, which does not depend on the phases of the vectors; true is what central differences in NumPy say.

Prints expected and got, and exits with 1 while they differ.
"""

import sys

import numpy as np

try:
    import paddle
except ImportError:
    sys.exit(125)


def power(x):
    return paddle.imag(paddle.pow(paddle.complex(x, paddle.ones_like(x)), paddle.to_tensor(2.0 + 0.0j, "complex128")))


def prod(y):
    return paddle.real(paddle.prod(paddle.complex(paddle.ones_like(y), y)))


def slogdet(x):
    return paddle.imag(paddle.linalg.slogdet(paddle.complex(x, paddle.ones_like(x)))[0])


def lu_solve(b):
    """The imaginary part of b / 2i, which is -b / 2."""
    factor, pivot = paddle.to_tensor([[2.0j]]), paddle.to_tensor([1], "int32")
    return paddle.imag(paddle.linalg.lu_solve(paddle.complex(b, paddle.zeros_like(b)), factor.astype("complex128"), pivot))


Y = np.array([[1.0, 0.5], [-0.25, 0.75]])


def svd(x):
    u, _, vh = paddle.linalg.svd(paddle.complex(x, paddle.to_tensor(Y)))
    d = paddle.to_tensor(np.array([1.0 + 0j, -2.0]))
    return paddle.sum(paddle.real(paddle.matmul(u * d, vh)))


def differences(x, h=1e-6):
    def value(x):
        u, _, vh = np.linalg.svd(x + 1j * Y)
        return ((u * [1.0, -2.0]) @ vh).real.sum()

    units = np.eye(x.size).reshape(-1, *x.shape)
    return [float(value(x + h * unit) - value(x - h * unit)) / (2 * h) for unit in units]


X = np.array([[0.5, 1.0], [2.0, 0.25]])
wrong = False
for f, x, expected in (
    (power, 2.0, [2.0]),
    (prod, [0.5, 0.5], [-0.5, -0.5]),
    (slogdet, [[0.5]], [-0.5 * 1.25**-1.5]),
    (svd, X, differences(X)),
    (lu_solve, [[0.5]], [-0.5]),
):
    point = paddle.to_tensor(np.array(x), stop_gradient=False)
    got = paddle.grad([f(point)], [point])[0].numpy().ravel().tolist()
    print(f"paddle {paddle.__version__}: {f.__name__}: expected {expected}, got {got}")
    wrong = wrong or any(not abs(a - b) <= 1e-6 for a, b in zip(got, expected, strict=True))
sys.exit(1 if wrong else 0)

"""The gradients of autograd.numpy.linalg's pinv (not square) and cholesky of complex matrices are wrong numbers.

pinv of a column v is conj(v) / |v|^2, transposed; cholesky of [[a, conj(c)], [c, b]] is [[r, 0], [c / r, sqrt(b - |c|^2 / a)]], r = sqrt(a).
The rules transpose where they have to conjugate as well. autograd's gradient of a real function u of z = x + i y is du/dx - i du/dy.
Expected are derivatives by mpmath. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import mpmath
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

mpmath.mp.dps = 40


def slopes(f, x):
    """Derivatives of a function of real numbers."""
    return [float(mpmath.diff(f, tuple(x), tuple(int(i == j) for j in range(len(x))))) for i in range(len(x))]


def of_column(p, q, r, s):
    v = [mpmath.mpc(p, q), mpmath.mpc(r, s)]
    size = p**2 + q**2 + r**2 + s**2
    return mpmath.re(v[0].conjugate() / size + 2j * v[1].conjugate() / size)


def of_hermitian(a, b, x, y):
    return mpmath.sqrt(a) + 2 * x / mpmath.sqrt(a) + 3 * y / mpmath.sqrt(a) + 4 * mpmath.sqrt(b - (x**2 + y**2) / a)


dp, dq, dr, ds = slopes(of_column, [1.0, 2.0, -0.5, 1.0])
places = [[[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]]]


def cholesky(t):
    lower = anp.linalg.cholesky(sum(t[i] * np.array(places[i], complex) for i in range(4)))
    return anp.real(lower[0, 0] + (2 - 3j) * lower[1, 0] + 4 * lower[1, 1])


cases = {
    "pinv of a column": (
        lambda x: anp.real(anp.sum(np.array([1.0, 2j]) * anp.linalg.pinv(x))),
        [[1.0 + 2.0j], [-0.5 + 1.0j]],
        [[dp - 1j * dq], [dr - 1j * ds]],
    ),
    "cholesky by a, b, Re c, Im c": (cholesky, [4.0, 9.0, 1.0, 2.0], slopes(of_hermitian, [4.0, 9.0, 1.0, 2.0])),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""The gradients of some functions of autograd have another shape than the argument.

outer flattens its arguments, tril and triu take a vector for the rows of a square matrix, diag reads a matrix that is not
square, solve_banded takes several right sides, dirichlet.logpdf takes all but the last probability, and Bessel functions and
polygamma broadcast the number over the orders. Each rule supposes the other case. Prints expected and got, and exits with
1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import autograd.scipy.linalg as linalg
    import autograd.scipy.special as special
    import autograd.scipy.stats as stats
    import mpmath
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

w = np.arange(1.0, 13.0)
matrix, square = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
vector = np.array([1.0, 2.0, 3.0])
cases = {
    "outer of a matrix": (
        lambda x: anp.sum(w.reshape(4, 3) * anp.outer(x, vector)),
        square,
        (w.reshape(4, 3) @ vector).reshape(2, 2),
    ),
    "outer of a scalar": (lambda x: anp.sum(anp.outer(x, vector)), 0.5, 6.0),
    "tril of a vector": (lambda x: anp.sum(w[:4].reshape(2, 2) * anp.tril(x)), [1.0, 2.0], [4.0, 4.0]),
    "triu of a vector": (lambda x: anp.sum(w[:4].reshape(2, 2) * anp.triu(x)), [1.0, 2.0], [1.0, 6.0]),
    "diag of a 2 x 3 matrix": (lambda x: anp.sum(w[:2] * anp.diag(x)), matrix, [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]),
    "solve_banded with a matrix b": (
        lambda x: anp.sum(w[:4].reshape(2, 2) * linalg.solve_banded((1, 0), x, square)),
        [[2.0, 4.0], [0.0, 0.0]],
        [[-(1 * 1 + 2 * 2) / 4, -(3 * 3 + 4 * 4) / 16], [-(3 * 1 + 4 * 2) / 8, 0.0]],
    ),
    "dirichlet.logpdf of 1 of 2": (
        lambda x: stats.dirichlet.logpdf(x, np.array([0.9, 0.8])),
        [0.75],
        [-0.1 / 0.75 + 0.2 / 0.25],
    ),
    "iv of two orders": (
        lambda x: anp.sum(special.iv(np.array([1.0, 2.0]), x)),
        1.5,
        float(mpmath.besseli(1, 1.5, derivative=1) + mpmath.besseli(2, 1.5, derivative=1)),
    ),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

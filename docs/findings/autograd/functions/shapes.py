"""Gradients of autograd that raise, or have another shape, for shapes and arguments that NumPy takes.

The values and, where there is one, forward mode are right. Prints expected and got, and exits with 1 while one raises.
"""

import sys

try:
    import autograd.numpy as anp
    import autograd.scipy.special as special
    from autograd.scipy.stats import multivariate_normal
    import mpmath
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

x, matrix = [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]
w = np.arange(1.0, 7.0)
weights = np.array([[1.0, 1.0], [1.0, 3.0]])
part = weights / weights.sum(1, keepdims=True)  # of the logarithm at x = [0, 0]
cases = {
    "broadcast_to(x, (3, 2))": (lambda x: anp.sum(w.reshape(3, 2) * anp.broadcast_to(x, (3, 2))), x, [9.0, 12.0]),
    "cross of vectors of 2": (lambda x: anp.sum(anp.cross(x, np.array([1.0, 2.0]))), x, [2.0, -1.0]),
    "outer(x, 2.0)": (lambda x: anp.sum(anp.outer(x, 2.0)), x, [2.0, 2.0]),
    "hsplit of a vector": (lambda x: anp.sum(anp.hsplit(x, 2)[0]), x, [1.0, 0.0]),
    "tile(x, 0)": (lambda x: anp.sum(anp.tile(x, 0)), x, [0.0, 0.0]),
    "gradient of 2 entries": (lambda x: anp.sum(w[:2] * anp.gradient(x)), x, [-3.0, 3.0]),
    "gradient of 3 entries": (lambda x: anp.sum(w[:3] * anp.gradient(x)), [1.0, 2.0, 4.0], [-2.0, -2.0, 4.0]),
    "roll(x, (1, 1), axis=(0, 1))": (
        lambda x: anp.sum(w[:4].reshape(2, 2) * anp.roll(x, (1, 1), axis=(0, 1))),
        matrix,
        [[4.0, 3.0], [2.0, 1.0]],
    ),
    "repeat(x, [1, 2])": (lambda x: anp.sum(w[:3] * anp.repeat(x, [1, 2])), x, [1.0, 5.0]),
    "concatenate(axis=None)": (lambda x: anp.sum(w[:4] * anp.concatenate([x, x], axis=None)), x, [4.0, 6.0]),
    "logsumexp with a matrix b": (
        lambda x: anp.sum(special.logsumexp(x, b=weights, axis=1)),
        [0.0, 0.0],
        part.sum(0),
    ),
    "multivariate_normal.logpdf with a number as the covariance": (
        lambda x: multivariate_normal.logpdf(x, np.array([0.5]), 2.0),
        [1.5],
        [-0.5],
    ),
    "array_split at [2, 1]": (
        lambda x: sum(anp.sum(w[: len(y)] * y) for y in anp.array_split(x, [2, 1])),
        [1.0, 2.0, 4.0],
        [1.0, 3.0, 2.0],
    ),
    "dsplit at [2, 1]": (lambda x: anp.sum(anp.dsplit(x, [2, 1])[0]), np.ones((1, 1, 2)), np.ones((1, 1, 2))),
    "iv of an order [1]": (
        lambda x: anp.sum(special.iv(np.array([1.0]), x)),
        1.0,
        float(mpmath.besseli(1, 1, derivative=1)),
    ),
    "linalg.norm with an axis in a tuple": (lambda x: anp.linalg.norm(x, axis=(0,)), [3.0, 4.0], [0.6, 0.8]),
    "psi of a complex number": (lambda x: anp.real(special.psi(x)), 2.0 + 4.0j, complex(mpmath.psi(1, 2 + 4j))),
}

wrong = False
for name, (f, x, expected) in cases.items():
    x = np.array(x)
    try:
        got = grad(f)(x)
        holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    except Exception as error:
        got, holds = f"{type(error).__name__}: {error}", False
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""Gradients written by hand for NumPy functions, and rules of HIPS autograd."""

from __future__ import annotations

import numpy as np

from tests.custom_gradients.row import Made, Table

NUMPY, AUTOGRAD = Table("numpy"), Table("autograd")

X = np.array([0.75, -1.25, 0.375])
Y = np.array([-0.5, 1.5, 2.25])
A = np.array([[2.0, 0.5, -0.25], [0.75, 3.0, 0.5], [-0.5, 0.25, 1.5]])


def quadratic(a, x):
    return x @ a @ x


@NUMPY.right
def quadratic_form():
    return Made(quadratic, (A, X), {"grad": lambda a, x: (np.outer(x, x), (a + a.T) @ x)})


@NUMPY.wrong("2 A x, although A is not symmetric")
def quadratic_form_symmetric():
    return Made(quadratic, (A, X), {"grad": lambda a, x: (np.outer(x, x), 2.0 * a @ x)})


def unit(x):
    return x / np.sqrt(np.sum(x * x))


@NUMPY.right
def normalised():
    def vjp(x, g):
        y = unit(x)
        return (g - y * np.sum(y * g)) / np.sqrt(np.sum(x * x))

    return Made(unit, (X * 1e120,), {"grad": vjp})


def huber(x):
    """Python decides entry by entry, so it cannot be traced."""
    return float(sum(0.5 * v * v if abs(v) <= 1.0 else abs(v) - 0.5 for v in x))


@NUMPY.right
def huber_loss():
    return Made(huber, (X,), {"grad": lambda x: np.clip(x, -1.0, 1.0)})


def top_eigenvalue(a):
    return np.linalg.eigvalsh((a + a.T) / 2.0)[-1]


@NUMPY.right
def eigenvalue():
    def gradient(a):
        v = np.linalg.eigh((a + a.T) / 2.0)[1][:, -1]
        return np.outer(v, v)

    return Made(top_eigenvalue, (A,), {"grad": gradient})


@NUMPY.wrong("the entries off the diagonal count twice, as if there were one for both")
def eigenvalue_of_a_triangle():
    def gradient(a):
        v = np.linalg.eigh((a + a.T) / 2.0)[1][:, -1]
        return np.tril(2.0 * np.outer(v, v)) - np.diag(v * v)

    return Made(top_eigenvalue, (A,), {"grad": gradient})


def root_by_newton(c):
    """A loop that ends by its values."""
    x = max(c, 1.0)
    while abs(x * x - c) > 1e-15 * c:
        x, before = 0.5 * (x + c / x), x
        if x == before:
            break
    return x


@NUMPY.right
def newton_root():
    return Made(root_by_newton, (2.5,), {"grad": lambda c: 0.5 / np.sqrt(c)})


@NUMPY.right
def cancelling_sum():
    """A small difference of large numbers, whose gradient does not cancel."""

    def f(x):
        return np.sum((x + 1e8) ** 2 - 1e16 - 2e8 * x)

    return Made(f, (X,), {"grad": lambda x: 2.0 * x})


@AUTOGRAD.right
def log_one_plus_exp():
    import autograd.numpy as anp
    from autograd.extend import defvjp, primitive

    @primitive
    def f(x):
        return np.logaddexp(x, 0.0)

    defvjp(f, lambda ans, x: lambda g: g * anp.exp(x - ans))
    return Made(f, (np.array([30.0, -30.0, 0.25]),), {"framework": "autograd"})


@AUTOGRAD.wrong("the two vjps are exchanged")
def vjps_swapped():
    import autograd.numpy as anp
    from autograd.extend import defvjp, primitive

    @primitive
    def f(x, y):
        return np.arctan2(x, y)

    def of_first(ans, x, y):
        return lambda g: -g * x / (x * x + y * y)

    def of_second(ans, x, y):
        return lambda g: g * y / (x * x + y * y)

    defvjp(f, of_first, of_second)
    return Made(lambda x, y: anp.sum(f(x, y) * y), (X, Y))


@AUTOGRAD.wrong("the factor 2 is missing")
def sum_of_squares():
    import autograd.numpy as anp
    from autograd.extend import defvjp, primitive

    @primitive
    def f(x):
        return np.sum(x * x)

    defvjp(f, lambda ans, x: lambda g: g * x)
    return Made(lambda x: f(anp.sin(x)), (X,))

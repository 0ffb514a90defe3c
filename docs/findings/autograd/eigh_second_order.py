"""autograd.numpy.linalg.eigh: a second derivative is 0 where the cotangent of the eigenvectors is 0, silently.

For f(a, t) = t g(a), with g a function of the eigenvectors, the derivative of df/da by t is dg/da at every t. The rule leaves the eigenvectors' part out
where their cotangent has no entry but 0, which it asks about the number: at t = 0 that part is then missing in the derivative by t, too.
Prints expected, by mpmath's eigenvectors and central differences, and got, and exits with 1 while they differ.
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

mpmath.mp.dps = 50


def f(a, t):
    vectors = anp.linalg.eigh((a + a.T) / 2)[1]
    return t * vectors[0, 0] ** 2


def exact(x):
    """The square of the first entry of the first eigenvector of [[x, 0.5], [0.5, 3]]."""
    values, vectors = mpmath.eigsy(mpmath.matrix([[x, mpmath.mpf(0.5)], [mpmath.mpf(0.5), 3]]))
    return vectors[0, min(range(2), key=lambda k: values[k])] ** 2


a = np.array([[2.0, 0.5], [0.5, 3.0]])
h = mpmath.mpf(10) ** -15
expected = float((exact(2 + h) - exact(2 - h)) / (2 * h))
wrong = False
for t in (1.0, 1e-9, 0.0):
    got = grad(lambda t: grad(f)(a, t)[0, 0])(t)
    wrong |= not abs(got - expected) < 1e-9
    print(f"t = {t}: expected {expected}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

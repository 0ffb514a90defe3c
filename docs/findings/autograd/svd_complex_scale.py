"""autograd.numpy.linalg.svd of a large complex matrix: the gradient through the vectors loses digits with the square of the size.

U V^H, the unitary factor of the polar decomposition, does not change when the matrix is multiplied by a positive number, and neither does its
derivative by x in a (M + i x N). The derivative at a = 1 is compared with differences of the factor, and then with that at larger a. The rule keeps a 1
on the diagonal of 1 / (s_j^2 - s_i^2), so that terms of the size of s are left to cancel against each other, and what is right is of the size of 1 / s.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

M, N = np.array([[2.0, 0.3], [0.1, 1.0]]), np.array([[0.5, 0.2], [0.7, 0.4]])
WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def f(x, a):
    u, _, vh = anp.linalg.svd(a * (M + 1j * x * N), full_matrices=False)
    return anp.real(anp.sum(WEIGHTS * anp.dot(u, vh)))


h = 1e-3
coarse, fine = ((f(0.5 + step, 1.0) - f(0.5 - step, 1.0)) / (2 * step) for step in (2 * h, h))
expected = fine + (fine - coarse) / 3
wrong = False
for a in (1.0, 1e6, 1e7):
    got = grad(f)(0.5, a)
    wrong |= abs(got - expected) > 1e-6
    print(f"a = {a:.0e}: expected {expected:.9f}, got {got:.9f}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""autograd.scipy.linalg.solve_triangular with unit_diagonal=True: the gradient is computed with the diagonal that should be read as ones.

With L = [[1, 0], [0.5, 1]] in place of the matrix, the cotangent of b is L^-T g and that of the matrix is the strict lower triangle of
-L^-T g x^T. The rules drop the keyword. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
    from autograd.scipy.linalg import solve_triangular
except ImportError as error:
    print(error)
    sys.exit(125)


def f(a, b):
    return anp.sum(weights * solve_triangular(a, b, lower=True, unit_diagonal=True))


weights = np.array([1.0, 2.0])
a, b = np.array([[3.0, 0.0], [0.5, 4.0]]), np.array([1.0, 2.0])
# x = (b0, b1 - a10 b0), so f = b0 + 2 (b1 - a10 b0)
expected = [np.array([[0.0, 0.0], [-2.0 * b[0], 0.0]]), np.array([1.0 - 2.0 * a[1, 0], 2.0])]
wrong = False
for k, name in enumerate("ab"):
    got = grad(f, k)(a, b)
    holds = np.allclose(got, expected[k], rtol=1e-10)
    wrong |= not holds
    print(f"by {name}: expected {expected[k].tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

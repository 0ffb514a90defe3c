"""The gradient of autograd.numpy.diagonal of a matrix that is not square is square.

The rule puts the cotangent on the diagonal of a new matrix of k x k, k the length of the diagonal, and not of the shape of the operand. It is float64 for
every operand. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for shape in ((2, 2), (2, 3), (3, 2)):
    expected = np.eye(*shape)
    got = grad(lambda x: anp.sum(anp.diagonal(x, 0, -1, -2)))(np.ones(shape))
    holds = np.array_equal(got, expected)
    wrong |= not holds
    print(f"{shape}: expected {expected.tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

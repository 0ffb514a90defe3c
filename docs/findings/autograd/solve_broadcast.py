"""autograd.numpy.linalg.solve where one operand is a stack and the other is not: wrong gradients.

For x = solve(a, b) the cotangent of b is solve(a^T, g), that of a is -solve(a^T, g) x^T, each summed over the axes that were broadcast
(Giles 2008, section 2.3.1). The rules do not sum, and hand a stack of vectors g to solve as if it were one matrix. What comes out has another shape
than the operand, or, after an op that sums, the right shape and wrong numbers.
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

stack, matrix = np.array([[[2.0, 0.0], [0.0, 2.0]], [[1.0, 2.0], [0.0, 1.0]]]), np.array([[1.0, 2.0], [0.0, 1.0]])
vector, right = np.array([1.0, 2.0]), np.arange(8.0).reshape(2, 2, 2)


def truth(a, b, g):
    """The cotangents of a stack `a` and a right side `b` of matrices, by explicit inverses."""
    adjoint = np.swapaxes(np.linalg.inv(a), -1, -2) @ g
    return -adjoint @ np.swapaxes(np.linalg.inv(a) @ b, -1, -2), adjoint


of_vector, of_matrix = np.array([[1.0, 2.0], [3.0, 4.0]]), np.arange(1.0, 9.0).reshape(2, 2, 2)
by_a, by_b = truth(stack, vector[:, None], of_vector[..., None])
by_matrix, _ = truth(matrix, right, of_matrix)
cases = {
    "a stack and a vector, by the stack": (lambda a: anp.sum(of_vector * anp.linalg.solve(a, vector)), stack, by_a),
    "a stack and a vector, by the vector": (
        lambda b: anp.sum(of_vector * anp.linalg.solve(stack, 1.0 * b)),
        vector,
        by_b[..., 0].sum(0),
    ),
    "a matrix and a stack, by the matrix": (
        lambda a: anp.sum(of_matrix * anp.linalg.solve(1.0 * a, right)),
        matrix,
        by_matrix.sum(0),
    ),
}
wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(x)
    holds = got.shape == x.shape and np.allclose(got, expected, rtol=1e-10)
    wrong |= not holds
    print(f"{name}: expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

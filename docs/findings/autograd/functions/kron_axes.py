"""The gradient of autograd.numpy.kron is wrong where the second array has three axes.

kron writes a * b[j, k, l] for every entry a of the first array, so the slope by a is the sum of b times the weights
at these places. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

vector = np.array([1.0, 2.0])
matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
stack = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])


def slopes(a, b, weights):
    """For each entry of a: what kron is where that entry is 1 and the others are 0, times the weights."""
    found = np.zeros(a.shape)
    for index in np.ndindex(a.shape):
        unit = np.zeros(a.shape)
        unit[index] = 1.0
        found[index] = np.sum(weights * np.kron(unit, b))
    return found


wrong = False
for a, b in ((vector, matrix), (matrix, matrix), (stack, matrix), (vector, stack), (matrix, stack), (stack, stack)):
    shape = np.kron(a, b).shape
    weights = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    got = grad(lambda a: anp.sum(weights * anp.kron(a, b)))(a)
    expected = slopes(a, b, weights)
    holds = np.shape(got) == np.shape(a) and np.allclose(got, expected, rtol=1e-10)
    wrong |= not holds
    print(f"{a.shape} by {b.shape}: expected {expected.tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

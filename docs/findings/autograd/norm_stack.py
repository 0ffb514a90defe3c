"""autograd.numpy.linalg.norm of a stack of matrices, axis=(-2, -1): the gradient is wrong where the stack is as long as the matrices have rows.

The Frobenius norm of each matrix X has the gradient X / |X|, the nuclear norm U V^T of its singular vectors. The rule puts the two axes back with
expand_dims at -2 and then at -1, which makes (1, k, 1) of (k,), not (k, 1, 1). Where that does not broadcast it raises, for a single
matrix too. With axis=(1, 2) it is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

x = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.5]]])
weights = np.array([1.0, 10.0])
u, _, vh = np.linalg.svd(x)
truth = {"fro": x / np.sqrt((x * x).sum((1, 2), keepdims=True)), "nuc": u @ vh}
wrong = False
for ord, slope in truth.items():
    expected = weights[:, None, None] * slope
    for axis in ((1, 2), (-2, -1)):
        got = grad(lambda x: anp.sum(weights * anp.linalg.norm(x, ord, axis=axis)))(x)
        holds = np.allclose(got, expected, rtol=1e-10)
        wrong |= not holds
        print(f"norm {ord}, axis {axis}: expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

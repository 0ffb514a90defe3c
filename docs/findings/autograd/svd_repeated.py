"""autograd.numpy.linalg.svd: the gradient of the sum of the singular values is NaN at a matrix whose singular values are equal.

The sum is the nuclear norm, whose gradient at a regular matrix is U V^T, there as elsewhere; of an orthogonal matrix it is the matrix itself. The rule
multiplies the vectors' cotangents, which are 0, with 1 / (s_j^2 - s_i^2), which is infinite. svd(compute_uv=False) is right, and the rule of eigh
leaves such a part out. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

x = np.array([[0.6, 0.8], [0.8, -0.6]])  # orthogonal
with np.errstate(all="ignore"):
    values_only = grad(lambda x: anp.sum(anp.linalg.svd(x, compute_uv=False)))(x)
    got = grad(lambda x: anp.sum(anp.linalg.svd(x, full_matrices=False)[1]))(x)
print(f"singular values {np.linalg.svd(x, compute_uv=False)}")
print(f"expected\n{x}\ngot\n{got}\nwith compute_uv=False\n{values_only}")
wrong = not (np.allclose(got, x, rtol=1e-10) and np.allclose(values_only, x, rtol=1e-10))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

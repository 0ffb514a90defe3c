"""The derivatives of autograd.scipy.linalg's sqrtm, solve_triangular and solve_sylvester of stacks of matrices are wrong.

SciPy takes stacks. Of diagonal matrices the gradients are known: entry i, j of the slopes of sqrtm is w_ij / (sqrt d_i +
sqrt d_j); of solve_triangular by the matrix -(w / d) y^T, of solve_sylvester -g x^T with g_ij = w_ij / (a_i + b_j). The rules reverse
all axes where they mean to transpose, and use dot for the product of stacks. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import autograd.scipy.linalg as linalg
    import numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

w = np.arange(1.0, 9.0).reshape(2, 2, 2)
b = np.array([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 1.0], [0.5, 3.0]]])
d = np.array([[4.0, 9.0], [1.0, 16.0]])
diagonal = d[:, :, None] * np.eye(2)
sums = d[:, :, None] + d[:, None, :]
mirrored = np.swapaxes
cases = {
    "sqrtm": (
        lambda x: anp.sum(w * linalg.sqrtm(x)),
        diagonal,
        w / (np.sqrt(d)[:, :, None] + np.sqrt(d)[:, None, :]),
    ),
    "solve_triangular": (
        lambda x: anp.sum(w * linalg.solve_triangular(x, b)),
        diagonal,
        np.triu(-(w / d[:, :, None]) @ mirrored(b / d[:, :, None], 1, 2)),
    ),
    "solve_sylvester": (
        lambda x: anp.sum(w * linalg.solve_sylvester(x, diagonal, b)),
        diagonal,
        -(w / sums) @ mirrored(b / sums, 1, 2),
    ),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")

f, x, expected = cases["solve_sylvester"]
unit = np.zeros_like(x)
unit[0, 0, 1] = 1.0
slope = make_jvp(f)(x)(unit)[1]
wrong |= not abs(slope - expected[0, 0, 1]) < 1e-10
print(f"solve_sylvester, forward mode, entry [0, 0, 1]: expected {expected[0, 0, 1]}, got {slope}")
sys.exit(1 if wrong else 0)

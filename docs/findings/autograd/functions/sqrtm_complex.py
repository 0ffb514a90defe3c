"""The gradient of autograd.scipy.linalg.sqrtm of a complex matrix has no imaginary part.

Of a diagonal matrix entry i, j is w_ij / (sqrt d_i + sqrt d_j). autograd's gradient of a real function u of z = x + i y is du/dx - i du/dy.
The rule takes the real part always. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import autograd.scipy.linalg as linalg
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

w, roots = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0 + 1j, 2.0 + 3j])
cases = {
    "sqrtm(diag(3+4i, -5+12i))": (
        lambda x: anp.real(anp.sum(w * linalg.sqrtm(x))),
        np.diag(roots**2),
        w / (roots[:, None] + roots),
    ),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

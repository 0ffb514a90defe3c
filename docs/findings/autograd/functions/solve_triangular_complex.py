"""autograd.scipy.linalg.solve_triangular of complex matrices: a wrong gradient with trans=2 ("C"), an error where the matrix is in Fortran order.

With a diagonal matrix d and trans=2 the solution is b / conj(d). autograd's gradient of a real function u of z = x + i y is du/dx - i du/dy.
It is w / conj(d) by b. Prints expected and got, and exits with 1 while they differ.
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

w, d, b = np.array([1.0, 2j]), np.array([2.0 + 1j, 1.0 - 3j]), np.array([1.0 + 2j, 3.0])
y, v = b / d.conj(), w / d.conj()  # of conj(a)^T y = b; entry i, j by the matrix is -conj(y_i v_j)
cases = {
    "trans=2, by b": (
        lambda b: anp.real(anp.sum(w * linalg.solve_triangular(np.diag(d), b, trans=2))),
        b,
        v,
    ),
    "trans=2, by the matrix": (
        lambda a: anp.real(anp.sum(w * linalg.solve_triangular(a, b, trans=2))),
        np.diag(d),
        -np.triu(np.outer(y, v).conj()),
    ),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")

try:
    f = lambda b: anp.real(anp.sum(w * linalg.solve_triangular(np.asfortranarray(np.diag(d)), b)))
    print(f"Fortran order, by b: expected {(w / d).tolist()}, got {grad(f)(b).tolist()}")
except ValueError as error:
    wrong = True
    print(f"Fortran order, by b: expected {(w / d).tolist()}, got ValueError: {error}")
sys.exit(1 if wrong else 0)

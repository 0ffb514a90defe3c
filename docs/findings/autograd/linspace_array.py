"""The derivatives of autograd.numpy.linspace of an array and a number have the shape of one of them.

With the weights t = 0, 1/4, ..., 1 the points are (1 - t) a + t x, so their sum has the slope 2 (0 + 1/4 + ... + 1) = 5 by
the number x, where the array a has two entries. Forward mode gives 2.5, and reverse mode two numbers for one.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

a = np.array([1.0, 1.0])
wrong = False
for name, f in (
    ("linspace(a, x, 5)", lambda x: np.sum(np.linspace(a, x, 5))),
    ("linspace(x, a, 5)", lambda x: np.sum(np.linspace(x, a, 5))),
):
    backward, forward = grad(f)(2.0), make_jvp(f)(2.0)(1.0)[1]
    print(f"{name}, reverse mode: expected 5.0, got {backward}")
    print(f"{name}, forward mode: expected 5.0, got {forward}")
    wrong = wrong or np.shape(backward) != () or abs(forward - 5.0) > 1e-12
sys.exit(int(wrong))

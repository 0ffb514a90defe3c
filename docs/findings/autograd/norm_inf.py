"""autograd.numpy.linalg.norm of a vector with ord=inf: the gradient is NaN in both modes.

The largest modulus of (1, -2, 0.5) has the gradient (0, -1, 0). The rules refuse orders up to 1 and take every other for a finite p; of the
formula for p-norms infinite powers are left. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)


def f(x):
    return anp.linalg.norm(x, np.inf)


x, expected = np.array([1.0, -2.0, 0.5]), np.array([0.0, -1.0, 0.0])
with np.errstate(all="ignore"):
    reverse = grad(f)(x)
    forward = np.array([make_jvp(f)(x)(unit)[1] for unit in np.eye(3)])
print(f"expected {expected}, got {reverse} (reverse mode), {forward} (forward mode)")
wrong = not (np.array_equal(reverse, expected) and np.array_equal(forward, expected))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

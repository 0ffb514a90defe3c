"""The derivative of autograd.numpy.prod is NaN where an entry is 0, in both modes.

It is the product of the other entries. The rules divide the whole product by the entry. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

x, expected = np.array([0.0, 2.0, 3.0]), np.array([6.0, 0.0, 0.0])
with np.errstate(all="ignore"):
    reverse = grad(anp.prod)(x)
    forward = np.array([make_jvp(anp.prod)(x)(unit)[1] for unit in np.eye(3)])
print(f"expected {expected}, got {reverse} (reverse mode), {forward} (forward mode)")
wrong = not (np.array_equal(reverse, expected) and np.array_equal(forward, expected))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

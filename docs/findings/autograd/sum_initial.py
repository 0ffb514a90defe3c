"""Forward mode of autograd.numpy.sum with initial, and of diff with prepend or append, adds the constant to the tangent.

The derivative of sum(x) + 5 along (1, 10, 100) is 111; that of the differences of (5, x) is (1, 9, 90). Prints expected
and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

x, v = np.array([1.0, 4.0, 2.0]), np.array([1.0, 10.0, 100.0])
cases = {
    "sum, initial": (lambda x: anp.sum(x, initial=5.0), 111.0),
    "diff, prepend": (lambda x: anp.diff(x, prepend=5.0), [1.0, 9.0, 90.0]),
    "diff, append": (lambda x: anp.diff(x, append=5.0), [9.0, 90.0, -100.0]),
}
wrong = False
for name, (f, expected) in cases.items():
    got = make_jvp(f)(x)(v)[1]
    holds = np.allclose(got, expected)
    wrong |= not holds
    print(f"{name}: expected {expected}, got {np.asarray(got).tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

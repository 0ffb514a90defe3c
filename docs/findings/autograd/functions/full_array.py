"""The gradient of autograd.numpy.full by an array is one number, the sum of all slopes.

full((3,), x) of three numbers is x itself; full((2, 3), x) writes it into both rows. The rule sums over everything, whatever
the shape of the fill value. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

weights = np.arange(1.0, 7.0)
x = [0.5, 1.0, 2.0]
cases = {
    "full((3,), x)": (lambda x: anp.sum(weights[:3] * anp.full((3,), x)), x, [1.0, 2.0, 3.0]),
    "full((2, 3), x)": (lambda x: anp.sum(weights.reshape(2, 3) * anp.full((2, 3), x)), x, [5.0, 7.0, 9.0]),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

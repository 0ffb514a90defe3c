"""The gradient of autograd.numpy.tile is wrong where reps has fewer entries than the array has axes.

tile(x, 2) of a matrix writes its columns twice, side by side, so a slope is the sum over the two blocks of columns. The rule
splits axis 0, which is the right one only where reps has an entry for each axis. Prints expected and got, and exits with 1
while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

weights = np.arange(1.0, 13.0).reshape(2, 6)
x = np.array([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]])
cases = {
    "tile(x, (1, 2))": (lambda x: anp.sum(weights * anp.tile(x, (1, 2))), x, weights[:, :3] + weights[:, 3:]),
    "tile(x, 2)": (lambda x: anp.sum(weights * anp.tile(x, 2)), x, weights[:, :3] + weights[:, 3:]),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""The gradient of autograd.numpy.repeat with a negative axis is a wrong number, or has the wrong shape.

An entry's slope is the sum over its copies, which lie next to each other. The rule slices the shape up to axis + 1, which is
empty for axis=-1: it adds up entries that are half the array apart. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

weights = np.arange(1.0, 13.0)
row, matrix = [0.5, 1.0, 2.0], np.array([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]])
cases = {
    "3 entries, axis=0": (lambda x: anp.sum(weights[:6] * anp.repeat(x, 2, axis=0)), row, [3.0, 7.0, 11.0]),
    "3 entries, axis=-1": (lambda x: anp.sum(weights[:6] * anp.repeat(x, 2, axis=-1)), row, [3.0, 7.0, 11.0]),
    "2 x 3, axis=-1": (
        lambda x: anp.sum(weights.reshape(2, 6) * anp.repeat(x, 2, axis=-1)),
        matrix,
        weights.reshape(2, 3, 2).sum(2),
    ),
    "2 x 3, axis=-2": (
        lambda x: anp.sum(weights.reshape(4, 3) * anp.repeat(x, 2, axis=-2)),
        matrix,
        weights.reshape(2, 2, 3).sum(1),
    ),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

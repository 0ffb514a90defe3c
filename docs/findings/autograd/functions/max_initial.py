"""The derivatives of autograd.numpy.max and min are NaN where initial= wins.

max([1, 2, 4], initial=5) is 5 whatever the entries are, so the slopes are 0. The rules divide by the number of entries that
equal the result, which is 0. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)


def reverse(f, x):
    return grad(f)(x)


def forward(f, x):
    slopes = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        unit = np.zeros_like(x)
        unit[place] = 1.0
        slopes[place] = make_jvp(f)(x)(unit)[1]
    return slopes


cases = {
    "max, initial=5": (lambda x: anp.max(x, initial=5.0), [1.0, 2.0, 4.0], [0.0, 0.0, 0.0]),
    "min, initial=0": (lambda x: anp.min(x, initial=0.0), [1.0, 2.0, 4.0], [0.0, 0.0, 0.0]),
    "max, initial=3": (lambda x: anp.max(x, initial=3.0), [1.0, 2.0, 4.0], [0.0, 0.0, 1.0]),
}

wrong = False
for name, (f, x, expected) in cases.items():
    for mode in (reverse, forward):
        got = mode(f, np.array(x))
        holds = got.shape == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
        wrong |= not holds
        print(f"{name}, {mode.__name__}: expected {expected}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

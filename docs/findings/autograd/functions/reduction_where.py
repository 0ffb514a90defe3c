"""The derivatives of autograd.numpy's sum, mean, prod, var, std, max and min do not heed where=.

What the mask leaves out has no influence, so its slope is 0, and means are over what is left. The rules take where among
their keywords and do not read it; the forward rules of sum and mean pass it on and are right.
Prints expected and got, and exits with 1 while they differ.
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


mask = np.array([True, False, True])
cases = {
    "sum of squares": (lambda x: anp.sum(x**2, where=mask), [1.0, 2.0, 4.0], [2.0, 0.0, 8.0]),
    "mean of squares": (lambda x: anp.mean(x**2, where=mask), [1.0, 2.0, 4.0], [1.0, 0.0, 4.0]),
    "prod": (lambda x: anp.prod(x, where=mask), [1.0, 2.0, 4.0], [4.0, 0.0, 1.0]),
    "var": (lambda x: anp.var(x, where=mask), [1.0, 2.0, 4.0], [-1.5, 0.0, 1.5]),
    "std": (lambda x: anp.std(x, where=mask), [1.0, 2.0, 4.0], [-0.5, 0.0, 0.5]),
    "max": (lambda x: anp.max(x, where=mask, initial=-9.0), [1.0, 4.0, 4.0], [0.0, 0.0, 1.0]),
    "min": (lambda x: anp.min(x, where=mask, initial=9.0), [2.0, 2.0, 4.0], [1.0, 0.0, 0.0]),
}

wrong = False
for name, (f, x, expected) in cases.items():
    for mode in (reverse, forward):
        got = mode(f, np.array(x))
        holds = got.shape == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
        wrong |= not holds
        print(f"{name}, {mode.__name__}: expected {expected}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

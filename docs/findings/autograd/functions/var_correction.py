"""The derivatives of autograd.numpy.var and std do not heed correction= and mean=, keywords of NumPy 2.

With n entries, mean m and correction c the slope of var is 2 (x - m) / (n - c), that of std half of it over std. correction
is another name of ddof; where mean is given, it is a constant. The rules know ddof alone.
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


x = np.array([1.0, 2.0, 4.0])
m = np.array([1.0])
sample, given = 2 * (x - 7 / 3) / 2, 2 * (x - 1.0) / 3
cases = {
    "var, ddof=1": (lambda x: anp.var(x, ddof=1), x, sample),
    "var, correction=1": (lambda x: anp.var(x, correction=1), x, sample),
    "std, correction=1": (lambda x: anp.std(x, correction=1), x, sample / 2 / (7 / 3) ** 0.5),
    "var, mean=1": (lambda x: anp.var(x, mean=m), x, given),
    "std, mean=1": (lambda x: anp.std(x, mean=m), x, given / 2 / (10 / 3) ** 0.5),
}

wrong = False
for name, (f, x, expected) in cases.items():
    for mode in (reverse, forward):
        got = mode(f, np.array(x))
        holds = got.shape == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
        wrong |= not holds
        print(f"{name}, {mode.__name__}: expected {expected}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

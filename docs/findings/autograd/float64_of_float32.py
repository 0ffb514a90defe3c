"""Derivatives of float32 functions that autograd returns in float64.

The rules make zeros, ones or identities without saying a dtype, or divide by a sum of bools: where, maximum and minimum, max and min, diagonal, eigh,
cholesky. Prints the dtypes, and exits with 1 while one is not float32.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

one, vector, matrix = np.float32(1), np.arange(1, 4, dtype=np.float32), np.array([[2, 0.5], [0.5, 3]], np.float32)
cases = {
    "where(True, x, 0)": (lambda x: anp.where(True, x, np.float32(0)), one),
    "minimum(x, 2)": (lambda x: anp.minimum(x, np.float32(2)), one),
    "max(x)": (anp.max, vector),
    "diagonal(x)": (lambda x: anp.sum(anp.diagonal(x, 0, -1, -2)), matrix),
    "eigh(x)[0]": (lambda x: anp.sum(anp.linalg.eigh(x)[0]), matrix),
    "cholesky(x)": (lambda x: anp.sum(anp.linalg.cholesky(x)), matrix),
}
wrong = False
for name, (f, x) in cases.items():
    value = f(x).dtype
    reverse = np.asarray(grad(f)(x)).dtype
    try:
        forward = np.asarray(make_jvp(f)(x)(np.ones_like(x))[1]).dtype
    except NotImplementedError:
        forward = None
    holds = value == reverse == np.float32 and forward in (None, np.float32)
    wrong |= not holds
    print(f"{name}: value {value}, gradient {reverse}, forward {forward or 'none'}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

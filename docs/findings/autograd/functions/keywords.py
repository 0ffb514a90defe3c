"""Gradients of autograd that raise TypeError where the call has a keyword, or leaves out an argument, that the rule does not know.

The values are NumPy's and SciPy's and are right. Each rule names the arguments of its function itself, an old list of them. Prints
expected and got, and exits with 1 while one raises.
"""

import sys

try:
    import autograd.numpy as anp
    import autograd.scipy.special as special
    import autograd.scipy.stats as stats
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

x = [1.0, 2.0]
softmax = [1 / (1 + np.e), np.e / (1 + np.e)]
cases = {
    "clip(x)": (lambda x: anp.sum(anp.clip(x)), x, [1.0, 1.0]),
    "clip(x, min=1.5, max=3)": (lambda x: anp.sum(anp.clip(x, min=1.5, max=3.0)), x, [0.0, 1.0]),
    "pad(x, 1)": (lambda x: anp.sum(anp.pad(x, 1)), x, [1.0, 1.0]),
    "trace(x, axis1=0, axis2=1)": (lambda x: anp.trace(x, axis1=0, axis2=1), np.eye(2), np.eye(2)),
    "cholesky(x, upper=False)": (lambda x: anp.sum(anp.linalg.cholesky(x, upper=False)), [[4.0]], [[0.25]]),
    "pinv(x, 1e-12)": (lambda x: anp.sum(anp.linalg.pinv(x, 1e-12)), [[2.0]], [[-0.25]]),
    "angle(x, True)": (lambda x: anp.sum(anp.angle(x, True)), x, [0.0, 0.0]),
    "linspace(0, x), 50 points": (lambda x: anp.sum(anp.linspace(0.0, x)), 1.0, 25.0),
    "linspace(0, x, 3, endpoint=False)": (lambda x: anp.sum(anp.linspace(0.0, x, 3, endpoint=False)), 1.0, 1.0),
    "diff(x, prepend=0)": (lambda x: anp.sum(anp.diff(x, prepend=0.0)), x, [0.0, 1.0]),
    "sort(x, stable=True)": (lambda x: anp.sum(anp.sort(x, stable=True)), x, [1.0, 1.0]),
    "nan_to_num(x, nan=1)": (lambda x: anp.sum(anp.nan_to_num(x, nan=1.0)), x, [1.0, 1.0]),
    "rot90(x, 1, (0, 1))": (lambda x: anp.sum(anp.rot90(x, 1, (0, 1))), np.eye(2), np.ones((2, 2))),
    "logsumexp(x, return_sign=True)": (lambda x: special.logsumexp(x, return_sign=True)[0], x, softmax),
    "gamma.logpdf(x, 2, scale=2)": (lambda x: stats.gamma.logpdf(x, 2.0, scale=2.0), 1.0, 0.5),
    "beta.logpdf(x, 2, 3, 0.5)": (lambda x: stats.beta.logpdf(x, 2.0, 3.0, 0.5), 0.7, 1 / 0.2 - 2 / 0.8),
    "multivariate_normal.logpdf(x)": (lambda x: stats.multivariate_normal.logpdf(x), 1.0, -1.0),
}

wrong = False
for name, (f, x, expected) in cases.items():
    x = np.array(x)
    try:
        got = grad(f)(x)
        holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    except Exception as error:
        got, holds = f"{type(error).__name__}: {error}", False
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

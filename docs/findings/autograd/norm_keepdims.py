"""autograd.numpy.linalg.norm with keepdims=True: forward mode returns wrong numbers, and the gradient has one axis too many.

The norms r of the rows of X have the slopes X / r. Both rules ignore keepdims: the one of forward mode divides a vector by the column r, which makes
a matrix; the one of reverse mode gives r a second axis of size 1. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

x = np.array([[3.0, 4.0], [6.0, 8.0]])
expected = x / np.array([[5.0], [10.0]])


def f(x):
    return anp.sum(anp.linalg.norm(x, axis=1, keepdims=True))


forward = np.zeros_like(x)
for place in np.ndindex(x.shape):
    unit = np.zeros_like(x)
    unit[place] = 1.0
    forward[place] = make_jvp(f)(x)(unit)[1]
wrong = False
for mode, got in (("forward", forward), ("reverse", grad(f)(x))):
    holds = got.shape == x.shape and np.allclose(got, expected, rtol=1e-10)
    wrong |= not holds
    print(f"{mode} mode: expected\n{expected}\ngot, of shape {got.shape},\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""autograd.numpy.where of a scalar and an array: forward mode is wrong by the size of the array, and the gradient has the array's shape.

The sum of where(True, x, zeros(3)) is 3 x. The rule of forward mode makes a tangent of the shape of x alone; the one of reverse mode does not sum over
the axes that were broadcast. The tangent of the other branch raises for a plain float.
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


def f(x):
    return anp.sum(anp.where(True, x, np.zeros(3)))


forward, reverse = make_jvp(f)(2.0)(1.0)[1], grad(f)(2.0)
print(f"derivative of the sum of where(True, x, zeros(3)): expected 3.0, got {forward} (forward mode), {reverse} (reverse mode)")
wrong = not (np.shape(forward) == np.shape(reverse) == () and forward == reverse == 3.0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

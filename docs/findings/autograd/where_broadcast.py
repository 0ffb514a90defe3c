"""autograd.numpy.where and clip of a scalar and arrays: forward mode of where is wrong by the size of the array, and gradients have the array's shape.

The sum of where(True, x, zeros(3)) is 3 x; that of clip(x, zeros(3), [3, 1, 3]) is 2 x + 1 at x = 2. The rule of where in forward mode makes a tangent
of the shape of x alone; the rules of reverse mode do not sum over the axes that were broadcast.
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

cases = {
    "where(True, x, zeros(3))": (lambda x: anp.sum(anp.where(True, x, np.zeros(3))), 3.0),
    "clip(x, zeros(3), [3, 1, 3])": (lambda x: anp.sum(anp.clip(x, np.zeros(3), np.array([3.0, 1.0, 3.0]))), 2.0),
}
wrong = False
for name, (f, expected) in cases.items():
    forward, reverse = make_jvp(f)(2.0)(1.0)[1], grad(f)(2.0)
    holds = np.shape(forward) == np.shape(reverse) == () and forward == reverse == expected
    wrong |= not holds
    print(f"derivative of the sum of {name}: expected {expected}, got {forward} (forward mode), {reverse} (reverse mode)")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

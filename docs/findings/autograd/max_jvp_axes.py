"""Forward mode of max, min and logsumexp in autograd over the last two axes, said as axis=(-2, -1): wrong numbers or NaN.

The rules put the reduced axes back one after the other in ascending order, which is right for axes from 0 on: of a result of shape (k,) they make (1, k, 1), not (k, 1, 1).
Where the array is as long along its second axis as along its first, that broadcasts. With axis=(1, 2) they are right, and so is reverse mode.
Prints expected, the softmax and the indicator of the largest entries, and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import make_jvp
    from autograd.scipy.special import logsumexp
except ImportError as error:
    print(error)
    sys.exit(125)

x = np.array([[[1.0, 2.0], [3.0, 4.0]], [[2.5, 0.5], [1.5, 3.5]]])
powers = np.exp(x)
cases = {
    "max": (anp.max, (x == x.max((1, 2), keepdims=True)).astype(float)),
    "min": (anp.min, (x == x.min((1, 2), keepdims=True)).astype(float)),
    "logsumexp": (logsumexp, powers / powers.sum((1, 2), keepdims=True)),
}
wrong = False
for name, (function, expected) in cases.items():
    for axis in ((1, 2), (-2, -1)):
        got = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            unit = np.zeros_like(x)
            unit[place] = 1.0
            with np.errstate(all="ignore"):
                got[place] = make_jvp(lambda x: anp.sum(function(x, axis=axis)))(x)(unit)[1]
        holds = np.allclose(got, expected, rtol=1e-10)
        wrong |= not holds
        print(f"{name}, axis {axis}: expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

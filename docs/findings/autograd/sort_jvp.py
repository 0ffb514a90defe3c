"""Forward mode of autograd.numpy.sort and partition for arrays of two axes: wrong numbers, or a tangent of the wrong shape.

The tangent is permuted as the entries are. The rule indexes the whole tangent by the permutation along one axis, so it takes rows for entries;
of a (2, 2) tangent it makes a (2, 2, 2) one, which later sums hide. take_along_axis would do. Reverse mode says that it has no rule.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

x = np.array([[0.2, 0.1], [0.3, 0.4]])
weights = np.array([[1.0, 2.0], [3.0, 4.0]])
expected = np.array([[2.0, 1.0], [3.0, 4.0]])
wrong = False
for name, function in (("sort(x, axis=1)", lambda x: anp.sort(x, axis=1)), ("partition(x, 1)", lambda x: anp.partition(x, 1))):
    got = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        unit = np.zeros_like(x)
        unit[place] = 1.0
        got[place] = make_jvp(lambda x: anp.sum(weights * function(x)))(x)(unit)[1]
    holds = np.array_equal(got, expected)
    wrong |= not holds
    print(f"slopes of sum(weights * {name}): expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

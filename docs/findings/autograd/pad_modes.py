"""Forward mode of autograd.numpy.pad in the modes "maximum" and "minimum" pads the tangent.

    pad([1, 3, 2], 1, "maximum") = [3, 1, 3, 2, 3]: along v the tangent of 3 is that of the second entry, and not
    the largest one of v

The values are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

x, v = np.array([1.0, 3.0, 2.0]), np.array([5.0, -1.0, 0.5])
wrong = False
for mode, entry in (("mean", None), ("maximum", 1), ("minimum", 0), ("median", 2)):
    added = np.mean(v) if entry is None else v[entry]
    expected = np.array([added, *v, added])
    value, got = make_jvp(lambda x, mode=mode: anp.pad(x, 1, mode))(x)(v)
    holds = np.allclose(got, expected)
    wrong |= not holds
    print(f"{mode}: {value.tolist()}, expected {expected.tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

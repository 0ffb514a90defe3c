"""Forward mode of autograd.numpy.linalg.norm of complex arrays: the derivative of a real number is complex.

|z| at 3 + 4i along i has the slope Re(conj(z) i) / |z| = 4/5. The rule does not take the real part. Prints expected and got, and exits with 1
while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

cases = {
    "2-norm": (anp.linalg.norm, [3.0 + 4.0j]),
    "3-norm": (lambda x: anp.linalg.norm(x, 3), [3.0 + 4.0j]),
    "nuclear norm": (lambda x: anp.linalg.norm(x, "nuc"), [[3.0 + 4.0j]]),
}
wrong = False
for name, (f, x) in cases.items():
    x = np.array(x)
    got = make_jvp(f)(x)(np.full(x.shape, 1j))[1]
    wrong |= not abs(got - 0.8) < 1e-12
    print(f"{name}: expected 0.8, got {got}")
sys.exit(1 if wrong else 0)

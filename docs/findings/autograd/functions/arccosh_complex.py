"""The derivative of autograd.numpy.arccosh of complex numbers has the wrong sign where the real part is negative, in both modes.

It is 1 / (sqrt(z - 1) sqrt(z + 1)). The rules write 1 / sqrt(z^2 - 1), which is on the other branch there. Expected is
mpmath's derivative. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import mpmath
    from autograd import holomorphic_grad, make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for z in (1.0 - 3.0j, -1.0 - 3.0j, -2.0 + 0.5j):
    expected = complex(mpmath.diff(mpmath.acosh, mpmath.mpc(z)))
    got = holomorphic_grad(anp.arccosh)(z), make_jvp(anp.arccosh)(z)(1.0 + 0.0j)[1]
    wrong |= max(abs(slope - expected) for slope in got) > 1e-9
    print(f"{z}: expected {expected}, got {got[0]} (reverse), {got[1]} (forward)")
sys.exit(1 if wrong else 0)

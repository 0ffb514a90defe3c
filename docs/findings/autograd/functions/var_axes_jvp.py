"""Forward mode of autograd.numpy.var over several axes raises NameError: name 'np' is not defined.

The slopes are 2 (x - mean) / n, here n = 4. std, whose rule names the right module, is right. Prints expected and got, and exits with 1 while
they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import make_jvp
except ImportError as error:
    print(error)
    sys.exit(125)

x, unit = np.array([[1.0, 2.0], [4.0, 5.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
wrong = False
try:
    got = make_jvp(lambda x: anp.var(x, axis=(0, 1)))(x)(unit)[1]
    wrong = not abs(got + 1.0) < 1e-12
except NameError as error:
    got, wrong = f"NameError: {error}", True
print(f"expected -1.0, got {got}")
sys.exit(1 if wrong else 0)

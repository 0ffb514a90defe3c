"""The gradient of autograd.numpy.einsum with a letter that one operand has twice raises.

einsum("ii->", x) is the trace, whose gradient is the identity. The rule asks einsum for a result with the letter twice. Forward mode is right.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

try:
    got = grad(lambda x: anp.einsum("ii->", x))(np.array([[1.0, 2.0], [3.0, 4.0]]))
except ValueError as error:
    got = f"ValueError: {error}"
print(f"expected\n{np.eye(2)}\ngot\n{got}")
wrong = not (isinstance(got, np.ndarray) and np.array_equal(got, np.eye(2)))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

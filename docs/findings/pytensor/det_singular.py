"""The gradient of det at singular matrices in PyTensor: an error, at a polynomial.

The determinant of a 2 x 2 matrix is a d - b c, with the gradient [[d, -c], [-b, a]] everywhere. The rule multiplies the determinant by an inverse.
Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")
try:
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
except ImportError as error:
    print(error)
    sys.exit(125)

x = pt.dmatrix("x")
gradient = pytensor.function([x], pytensor.grad(pt.linalg.det(x), x), mode="FAST_COMPILE")
wrong = False
for a, b, c, d in ((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 2.0, 4.0)):
    expected = np.array([[d, -c], [-b, a]])
    try:
        got = gradient(np.array([[a, b], [c, d]]))
        wrong |= not np.allclose(got, expected)
    except np.linalg.LinAlgError as error:
        got, wrong = f"LinAlgError: {str(error).splitlines()[0]}", True
    print(f"pytensor {pytensor.__version__}, [[{a}, {b}], [{c}, {d}]]: expected {expected.tolist()}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

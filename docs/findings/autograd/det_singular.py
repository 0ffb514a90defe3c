"""autograd.numpy.linalg.det raises where it is differentiated at a singular matrix, where the derivative exists.

It is the transpose of the adjugate, [[d, -c], [-b, a]] for [[a, b], [c, d]]. The rule multiplies the determinant with an inverse that does not exist; in a
stack, one singular matrix takes the gradients of the others along. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for x in (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])):
    expected = np.array([[x[1, 1], -x[1, 0]], [-x[0, 1], x[0, 0]]])
    try:
        got = grad(anp.linalg.det)(x)
        holds = np.allclose(got, expected, rtol=1e-10)
    except np.linalg.LinAlgError as error:
        got, holds = f"LinAlgError: {error}", False
    wrong |= not holds
    print(f"det of {x.tolist()}: expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

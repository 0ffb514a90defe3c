"""autograd.numpy.diagonal of a complex matrix: the gradient loses its imaginary part.

The real part of the sum of i d over the diagonal d of i x A, which is -x times the trace of A: the derivative by x is -5 for A = [[1, 2], [3, 4]].
Prints expected and got, and exits with 1 while they differ.
"""

import sys
import warnings

try:
    import autograd.numpy as anp
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

warnings.simplefilter("ignore")  # NumPy's, about an imaginary part that is discarded
A = anp.array([[1.0, 2.0], [3.0, 4.0]])
got = float(grad(lambda x: anp.sum(anp.real(1j * anp.diagonal(1j * x * A, 0, -1, -2))))(0.5))
print(f"expected -5.0, got {got}")
wrong = abs(got + 5.0) > 1e-12
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

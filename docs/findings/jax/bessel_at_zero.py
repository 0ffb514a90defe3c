"""Derivatives of jax.scipy.special.i0 and i1 at 0, where both functions are smooth.

The series are i0(x) = 1 + x^2/4 + x^4/64 + ... and i1(x) = x/2 + x^3/16 + ..., so the derivatives at 0 of
orders 1, 2, 3 are 0, 1/2, 0 and 1/2, 0, 3/8. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import jax
except ImportError:
    print("this script needs jax")
    sys.exit(125)
from jax.scipy import special

jax.config.update("jax_enable_x64", True)

wrong = False
for function, expected in ((special.i0, (0.0, 0.5, 0.0)), (special.i1, (0.5, 0.0, 0.375))):
    derivative = function
    for order, true in enumerate(expected, 1):
        derivative = jax.grad(derivative)
        got = float(derivative(0.0))
        print(f"{function.__name__}, order {order}  expected {true}  got {got}")
        wrong = wrong or abs(got - true) > 1e-9
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

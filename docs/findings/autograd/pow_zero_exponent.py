"""The mixed second derivative of x**y at y = 0 in autograd: x is returned for 1 / x.

The first derivative by x is y x^(y - 1), whose derivative by y at y = 0 is 1 / x. The rule writes 1 for the exponent y - 1 where y is 0, so that
0 / 0 is met nowhere; then y x is differentiated. By y first and x second it is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)


def f(x, y):
    return x**y


wrong = False
for x in (0.5, 3.0):
    expected = 1 / x
    by_x_first = grad(lambda y: grad(f, 0)(x, y))(0.0)
    by_y_first = grad(lambda x: grad(f, 1)(x, 0.0))(x)
    wrong |= not (abs(by_x_first - expected) <= 1e-12 and abs(by_y_first - expected) <= 1e-12)
    print(f"x = {x}, y = 0: expected {expected}, got {by_x_first} (by x, then y), {by_y_first} (by y, then x)")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""Gradients of the real part of functions of a complex number z = x + iy.

acosh'(z) = 1 / (sqrt(z - 1) sqrt(z + 1)); sign(z) = z / |z|, whose real part x / |z| has the gradient
(y^2, -x y) / |z|^3. Prints expected and got; exits with 1 while they differ.
"""

import cmath
import sys

try:
    import numpy as np
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

z = -1.0 + 1.0j
slope = 1.0 / (cmath.sqrt(z - 1.0) * cmath.sqrt(z + 1.0))
wrong = False
for name, f, expected in (
    ("acosh", paddle.acosh, [slope.real, -slope.imag]),
    ("sign", paddle.sign, [z.imag**2 / abs(z) ** 3, -z.real * z.imag / abs(z) ** 3]),
):
    x = paddle.to_tensor(z.real, "float64", stop_gradient=False)
    y = paddle.to_tensor(z.imag, "float64", stop_gradient=False)
    value = paddle.real(f(paddle.complex(x, y)))
    got = [g.item() for g in paddle.grad([value], [x, y])]
    print(f"{name}: expected {expected}, got {got}")
    wrong = wrong or not np.allclose(got, expected, rtol=1e-12, atol=0)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

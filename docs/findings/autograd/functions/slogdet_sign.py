"""The gradient of the sign that autograd.numpy.linalg.slogdet returns is 0 for complex matrices, whose sign is det / |det|.

Of [[3 + 4i]] the imaginary part of the sign is y / |z|, with the slopes -12/125 by x and 9/125 by y.
autograd's gradient of a real function u of z = x + i y is du/dx - i du/dy.
The rule reads the cotangent of the logarithm alone. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

cases = {
    "Im sign": (
        lambda x: anp.imag(anp.linalg.slogdet(x)[0]),
        [[3.0 + 4.0j]],
        [[-12 / 125 - 9j / 125]],
    ),
}

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

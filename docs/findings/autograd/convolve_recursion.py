"""autograd.scipy.signal.convolve, mode="valid", never ends in its own gradient where the result is as large as the kernel and longer on one axis, shorter on the other.

The gradient by the array is a full convolution of the cotangent with the kernel. convolve exchanges its operands where the first is longer on some axis and not
smaller in all: of two that are each longer on one axis, and of one size, it exchanges for ever.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
    from autograd.scipy.signal import convolve
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
x = np.arange(16.0).reshape(4, 4)
for shape in ((3, 3), (3, 2)):
    kernel = np.arange(1.0, 1.0 + shape[0] * shape[1]).reshape(shape)
    turned = kernel[::-1, ::-1]
    expected = np.zeros_like(x)
    for i, j in np.ndindex(5 - shape[0], 5 - shape[1]):  # each place of the kernel
        expected[i : i + shape[0], j : j + shape[1]] += turned
    try:
        got = grad(lambda x: anp.sum(convolve(x, kernel, mode="valid")))(x)
        holds = np.allclose(got, expected, rtol=1e-12)
    except RecursionError as error:
        got, holds = f"RecursionError: {error}", False
    wrong |= not holds
    print(f"kernel of {shape}: expected\n{expected}\ngot\n{got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

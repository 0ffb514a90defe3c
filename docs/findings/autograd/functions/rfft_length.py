"""The gradient of autograd.numpy.fft.rfft does not know a length that is given as n=.

    the sum over k of w_k Re(rfft(x, n)_k): its slopes are the sums over k of w_k cos(2 pi j k / n)

rfft(x, n=4) pads or cuts x as rfft(x, 4) does, whose gradient is right. Prints expected and got, and exits
with 1 while they differ.
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
for length, n in ((4, 4), (2, 4), (4, 8), (4, 2), (6, 4), (3, 4), (1, 2)):
    x, weights = np.arange(1.0, length + 1), np.arange(1.0, n // 2 + 2)
    slopes = [np.sum(weights * np.cos(2 * np.pi * j * np.arange(n // 2 + 1) / n)) for j in range(length)]
    expected = np.where(np.arange(length) < n, slopes, 0.0)
    for name, transform in (
        (f"rfft(x, {n})", lambda x, n=n: anp.fft.rfft(x, n)),
        (f"rfft(x, n={n})", lambda x, n=n: anp.fft.rfft(x, n=n)),
    ):
        try:
            got = grad(lambda x, f=transform, w=weights: anp.sum(w * anp.real(f(x))))(x)
            right, said = np.allclose(got, expected, rtol=1e-10, atol=1e-10), np.round(got, 6).tolist()
        except NotImplementedError as error:
            right, said = False, error
        wrong |= not right
        text = f"{name}, {length} entries: expected {np.round(expected, 6).tolist()}, got {said}"
        print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

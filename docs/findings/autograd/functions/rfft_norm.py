"""The gradients of autograd.numpy.fft's rfft, irfft and their forms for two and more axes are wrong by a factor for norm="forward" and for
norm="backward", which is the default's name.

With n = 4 the slopes of sum_k w_k Re(rfft(x)_k) are sum_k w_k cos(pi j k / 2), integers, times 1, 1/2 and 1/4 for the norms backward,
ortho and forward. The rule divides by n only where norm is None. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

fft = anp.fft
w = np.array([1.0, 2.0, 3.0, 4.0])
signal, spectrum, matrix = [1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 3.0], [[1.0, 2.0], [3.0, 5.0]]
of_rfft, of_irfft = np.array([6.0, -2.0, 2.0, -2.0]), np.array([10.0, -4.0, -2.0])
of_rfft2 = np.array([[10.0, -2.0], [-4.0, 0.0]])
cases = {}
for norm, down in ((None, 1.0), ("backward", 1.0), ("ortho", 0.5), ("forward", 0.25)):
    cases[f"rfft, {norm}"] = (lambda x, norm=norm: anp.sum(w[:3] * anp.real(fft.rfft(x, norm=norm))), signal, of_rfft * down)
    cases[f"irfft, {norm}"] = (lambda x, norm=norm: anp.sum(w * fft.irfft(x, norm=norm)), spectrum, of_irfft / (4 * down))
    for name in ("rfft2", "rfftn"):
        cases[f"{name}, {norm}"] = (
            lambda x, norm=norm, f=getattr(fft, name): anp.sum(w.reshape(2, 2) * anp.real(f(x, norm=norm))),
            matrix,
            of_rfft2 * down,
        )

wrong = False
for name, (f, x, expected) in cases.items():
    got = grad(f)(np.array(x))
    holds = np.shape(got) == np.shape(x) and np.allclose(got, expected, rtol=1e-10, atol=1e-12)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

"""The second derivative of torch.logaddexp is NaN where one argument is far above the other.

    log(e^x + e^y): by x it is s = 1 / (1 + e^(y - x)), and again by x, s (1 - s)

Expected is mpmath's. logaddexp2 has the same rule, with ln 2 s (1 - s) by powers of 2. All mixtures of modes.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import mpmath
import torch
from torch.func import grad, jacfwd, jacrev

mpmath.mp.dps = 60
MODES = {
    "(rev, rev)": lambda f: grad(grad(f)),
    "(rev, fwd)": lambda f: jacfwd(grad(f)),
    "(fwd, rev)": lambda f: jacrev(jacfwd(f)),
    "(fwd, fwd)": lambda f: jacfwd(jacfwd(f)),
}
wrong = False
print(f"torch {torch.__version__}")
for function, base, dtype, points in (
    (torch.logaddexp, mpmath.e, torch.float32, (-5.0, -80.0, -90.0)),
    (torch.logaddexp, mpmath.e, torch.float64, (-5.0, -516.0, -720.0)),
    (torch.logaddexp2, mpmath.mpf(2), torch.float64, (-5.0, -1050.0)),
):
    zero = torch.zeros((), dtype=dtype)
    for x in points:
        s = 1 / (1 + base ** -mpmath.mpf(x))
        expected = float(mpmath.log(base) * s * (1 - s))
        for name, mode in MODES.items():
            got = mode(lambda x, f=function, y=zero: f(x, y))(torch.tensor(x, dtype=dtype)).item()
            right = abs(got - expected) <= 1e-4 * expected + torch.finfo(dtype).tiny
            wrong |= not right
            text = f"{function.__name__}({x}, 0), {dtype}, {name}: expected {expected:.6g}, got {got:.6g}"
            print(f"{text}{'' if right else '   wrong'}")
sys.exit(int(wrong))

"""A negative index into a concatenation in PyTensor: where the first part is a constant, its last entry is taken for the concatenation's.

The square of concatenate([0], x v)[-1] is (x v[-1])^2, and its derivative by x is 2 x v[-1]^2. The rewrites make both 0. Without rewrites they are
right. The last state of a scan is read that way where there may be no step: concatenate([start], states)[-1].
Prints expected and got, and exits with 1 while they differ.
"""

import os
import sys

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")
try:
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
    from pytensor.compile.mode import Mode
except ImportError as error:
    print(error)
    sys.exit(125)

x, v = pt.dscalar("x"), pt.dvector("v")
last = pt.concatenate([pt.constant(np.zeros(1)), x * v])[-1]
y = last * last
expected = [(0.5 * 3.0) ** 2, 2 * 0.5 * 3.0**2]
wrong = False
for optimizer in (None, "fast_compile", "fast_run"):
    f = pytensor.function([x, v], [y, pytensor.grad(y, x)], mode=Mode("vm", optimizer))
    got = [float(entry) for entry in f(0.5, np.array([1.0, 2.0, 3.0]))]
    wrong |= got != expected
    print(f"pytensor {pytensor.__version__}, optimizer {optimizer}: value and derivative, expected {expected}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""An elementwise operation of 32 operands or more in PyTensor without a compiler: AttributeError, also in a gradient.

The rewrites of FAST_RUN make one sum of the terms of a gradient. By Python's kernels a sum of 31 terms is computed, and one of 32 raises. The gradient of
x^1 + x^2 + ... + x^n is 1 + 2 x + ... + n x^(n - 1), which is a sum of n terms.
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

x = pt.dscalar("x")
wrong = False
for n in (20, 31, 32, 40):
    y = pt.add(*[x**k for k in range(1, n + 1)])
    expected = sum(k * 0.5 ** (k - 1) for k in range(1, n + 1))
    try:
        got = float(pytensor.function([x], pytensor.grad(y, x), mode=Mode("vm", "fast_run"))(0.5))
    except AttributeError as error:
        got = f"AttributeError: {error}"
    wrong |= isinstance(got, str) or not np.isclose(got, expected)
    print(f"pytensor {pytensor.__version__}, {n} terms: expected {expected}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

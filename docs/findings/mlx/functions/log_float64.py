"""Derivatives of mx.log2 and mx.log10 in float64, on the CPU.

They are 1 / (x ln 2) and 1 / (x ln 10). Prints expected and got; exits with 1 while they differ by more than
float64 allows.
"""

import math
import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

mx.set_default_device(mx.cpu)
wrong = False
for f, base in ((mx.log2, 2.0), (mx.log10, 10.0)):
    got = mx.grad(f)(mx.array(0.75, mx.float64)).item()
    expected = 1.0 / (0.75 * math.log(base))
    print(f"base {base}: expected {expected!r}, got {got!r}, relative error {got / expected - 1.0:.2g}")
    wrong = wrong or abs(got / expected - 1.0) > 1e-14
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

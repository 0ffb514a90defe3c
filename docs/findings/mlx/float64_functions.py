"""sin, cos and exp of float64 are right to seven digits only in MLX, and so is what is made of them (softmax, logsumexp, sigmoid), and erf.

tan, tanh, log, sqrt, expm1 and others are right to the last digits. Prints the greatest relative error of each function at five numbers, and exits with 1
while one is above 1e-12.
"""

import math
import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)

wrong = False
for name in ("sin", "cos", "exp", "erf", "tan", "tanh", "log", "expm1"):
    worst = 0.0
    for x in (0.1, 0.5, 0.9, 1.1, 1.7):
        expected, got = getattr(math, name)(x), getattr(mx, name)(mx.array(x, mx.float64)).item()
        worst = max(worst, abs(got - expected) / abs(expected))
    print(f"mlx {version('mlx')}: {name} of float64: relative error {worst:.1e}{'   wrong' if worst > 1e-12 else ''}")
    wrong = wrong or worst > 1e-12
sys.exit(1 if wrong else 0)

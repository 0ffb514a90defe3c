"""Forward mode of a sum in PyTensor: of x + y along (1, 1), one summand's tangent is lost. Pullbacks of outputs that depend on each other lose one, too.

The derivative of x + sin(y) along (1, 1) is 1 + cos(y). `pushforward` makes it of two pullbacks, and the pullback of several outputs takes each
cotangent for all that is known of its output: where one output is computed from another (the cotangent of x is the one of the sum itself, and
that of y is computed from it), what the later one adds is dropped. With the ops' own rules the derivative is right.
Prints expected and got, and exits with 1 while they differ.
"""

import math
import os
import sys

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")
try:
    import pytensor
    import pytensor.tensor as pt
    from pytensor.gradient import pullback, pushforward
except ImportError as error:
    print(error)
    sys.exit(125)

x, y, u, v = pt.dscalars("x", "y", "u", "v")
s = pt.sin(x)
cases = [
    ("pushforward of x + y", pushforward([x + y], [x, y], [u, v])[0], 2.0),
    ("pushforward of x + sin(y)", pushforward([x + pt.sin(y)], [x, y], [u, v])[0], 1 + math.cos(1.7)),
    ("the same by the ops' own", pushforward([x + pt.sin(y)], [x, y], [u, v], use_op_pushforward=True)[0], 1 + math.cos(1.7)),
    ("pullback of sin(x), sin(x)^2", pullback([s, s**2], [x], [u, v])[0], math.cos(0.5) * (1 + 2 * math.sin(0.5))),
]
wrong = 0
for what, derivative, expected in cases:
    got = float(pytensor.function([x, y, u, v], derivative, mode="FAST_COMPILE", on_unused_input="ignore")(0.5, 1.7, 1.0, 1.0))
    holds = math.isclose(got, expected)
    wrong += not holds
    print(f"pytensor {pytensor.__version__}, {what}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

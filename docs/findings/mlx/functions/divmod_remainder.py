"""Derivatives of the remainder that mx.divmod returns.

a mod b = a - b floor(a / b), so at (5.5, 2) its gradient is (1, -2); mx.remainder has it. Prints expected and
got; exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

a, b = mx.array(5.5), mx.array(2.0)
one = mx.array(1.0)
expected = [1.0, -2.0]
wrong = False
for name, f in (("mx.remainder", mx.remainder), ("mx.divmod", lambda a, b: mx.divmod(a, b)[1])):
    reverse = [g.item() for g in mx.grad(f, [0, 1])(a, b)]
    zero = mx.array(0.0)
    forward = [mx.jvp(f, [a, b], along)[1][0].item() for along in ([one, zero], [zero, one])]
    print(f"{name}: expected {expected}, reverse mode {reverse}, forward mode {forward}")
    wrong = wrong or reverse != expected or forward != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

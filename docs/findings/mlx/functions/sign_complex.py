"""The derivative of mlx.core.sign of a complex number.

sign(a + bi) is (a + bi) / r for r = |a + bi|. Its real part is a / r, with the slopes b^2 / r^3 by a and
-ab / r^3 by b. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)


def real_part(a, b):
    return mx.real(mx.sign(a + 1j * b))


a, b, zero, one = mx.array(3.0), mx.array(4.0), mx.array(0.0), mx.array(1.0)
expected = [16.0 / 125.0, -12.0 / 125.0]
reverse = [g.item() for g in mx.grad(real_part, [0, 1])(a, b)]
forward = [mx.jvp(real_part, [a, b], list(along))[1][0].item() for along in ((one, zero), (zero, one))]
print(f"the real part is {real_part(a, b).item():.6g}, expected 0.6")
wrong = False
for name, got in (("reverse", reverse), ("forward", forward)):
    print(f"{name} mode: expected {expected}, got {got}")
    wrong = wrong or any(abs(x - y) > 1e-5 for x, y in zip(got, expected))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

"""mx.logaddexp of complex numbers has no derivative in either mode.

log(exp(z) + exp(w)) has the derivative exp(z) / (exp(z) + exp(w)) by z, or its conjugate, by the convention. The value is right. Prints expected and got; exits with 1 while they differ.
"""

import cmath
import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

z, w = 1 + 2j, 1 - 1j
value = cmath.log(cmath.exp(z) + cmath.exp(w))
slope = cmath.exp(z) / (cmath.exp(z) + cmath.exp(w))
x, y, one = (mx.array(number, mx.complex64) for number in (z, w, 1 + 0j))
print("value: expected", value, "got", mx.logaddexp(x, y).item())
wrong = False
for mode, ask in (
    ("reverse", lambda: mx.grad(lambda x: mx.real(mx.logaddexp(x, y)))(x).item()),
    ("forward", lambda: mx.jvp(lambda x: mx.logaddexp(x, y), [x], [one])[1][0].item()),
):
    try:
        got = ask()
        holds = min(abs(got - slope), abs(got - slope.conjugate())) < 1e-5
    except ValueError as error:
        got, holds = f"ValueError: {error}", False
    print(f"{mode} mode: expected {slope}, got {got}")
    wrong = wrong or not holds
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

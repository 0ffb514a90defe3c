"""The derivative of jax.lax.digamma at negative arguments is a wrong number from about -7 on.

digamma'(x) is the sum of 1/(x + k)^2 over k = 0, 1, 2, ...; what the sum leaves out after N terms is 1/(x +
N) + 1/(2 (x + N)^2) but for less than 1/(x + N)^3. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import jax
except ImportError:
    print("this script needs jax")
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
TERMS = 10_000

wrong = False
for x in (-0.5, -6.5, -9.3, -15.5, -30.3):
    rest = 1.0 / (x + TERMS) + 0.5 / (x + TERMS) ** 2
    expected = sum(1.0 / (x + k) ** 2 for k in range(TERMS)) + rest
    got = float(jax.grad(jax.lax.digamma)(x))
    print(f"{x}  expected {expected:.12g}  got {got:.12g}")
    wrong = wrong or abs(got - expected) > 1e-10 * abs(expected)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

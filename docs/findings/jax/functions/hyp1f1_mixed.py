"""The mixed second derivative of jax.scipy.special.hyp1f1 at x = 0 is 0 where a or b is first.

    1F1(a, b, x) = 1 + a / b x + ..., so by a, then x it is 1 / b, and by b, then x it is -a / b^2

By x first it is right. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import jax
    from jax.scipy.special import hyp1f1
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for a, b in ((1.0, 2.0), (1.5, 2.5)):
    for first, expected in ((0, 1.0 / b), (1, -a / b**2)):
        slope = jax.grad(hyp1f1, first)
        got = float(jax.jvp(lambda x, slope=slope, a=a, b=b: slope(a, b, x), (0.0,), (1.0,))[1])
        other = float(jax.grad(jax.grad(hyp1f1, 2), first)(a, b, 0.0))
        holds = math.isclose(got, expected, rel_tol=1e-6)
        wrong |= not holds
        text = f"by {'ab'[first]}, then x at ({a}, {b}, 0): expected {expected:.9f}, got {got:.9f}"
        print(f"{text}, by x first {other:.9f}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)

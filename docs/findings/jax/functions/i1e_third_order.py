"""The third derivative of jax.scipy.special.i1e next to 0 cancels.

exp(-x) I1(x) = x / 2 - x^2 / 2 + 5 x^3 / 16 - x^4 / 8 + ... for x > 0, so that the third derivative is 15 / 8 - 3 x + ....
Prints expected and got, and exits with 1 while they differ by more than a thousandth.
"""

import sys

try:
    import jax
    from jax.scipy.special import i1e
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
reverse, forward = (lambda f: jax.grad(jax.grad(jax.grad(f)))), (lambda f: jax.jacfwd(jax.jacfwd(jax.jacfwd(f))))
wrong = False
for x in (1e-3, 1e-7, 1e-8, 1e-9):
    for name, mode in (("(rev, rev, rev)", reverse), ("(fwd, fwd, fwd)", forward)):
        expected, got = 15 / 8 - 3 * x, float(mode(i1e)(x))
        holds = abs(got - expected) <= 1e-3 * expected
        wrong |= not holds
        print(f"x = {x}, {name}: expected {expected:.9g}, got {got:.9g}{'' if holds else '   wrong'}")
sys.exit(int(wrong))

"""The derivative of jax.scipy.special.boxcox and boxcox1p by lambda is 0 at lambda = 0, and NaN at x = 0.

    boxcox(x, l) = (x^l - 1) / l = log(x) + l log(x)^2 / 2 + ... has the slope log(x)^2 / 2 by l at l = 0;
    boxcox(0, l) = -1 / l for l > 0 has the slope 1 / l^2;
    boxcox1p(x, l) = boxcox(1 + x, l)

The values and the derivative at any other lambda are right. Prints expected and got, and exits with 1 while
they differ.
"""

import math
import sys

import jax

jax.config.update("jax_enable_x64", True)
special = jax.scipy.special
asked = {
    "boxcox": ((2.0, 0.0, math.log(2.0) ** 2 / 2.0), (0.0, 2.0, 0.25), (4.0, 1.0, 4.0 * math.log(4.0) - 3.0)),
    "boxcox1p": ((1.0, 0.0, math.log(2.0) ** 2 / 2.0), (-1.0, 2.0, 0.25)),
}
wrong = False
print(f"jax {jax.__version__}")
for name, points in asked.items():
    for x, power, expected in points:
        for mode in (jax.jacfwd, jax.grad):
            got = float(mode(getattr(special, name), argnums=1)(x, power))
            print(f"{name}({x}, {power}) by lambda, {mode.__name__}: expected {expected:.12f}, got {got:.12f}")
            wrong = wrong or not abs(got - expected) < 1e-9
sys.exit(int(wrong))

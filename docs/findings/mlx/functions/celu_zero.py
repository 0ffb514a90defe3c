"""The derivative of mlx.nn.celu at 0.

celu(x) is x for x > 0 and exp(x) - 1 for x < 0; both have the slope 1 at 0, so celu is differentiable there.
mlx.nn.elu, which is the same function, has it. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
    import mlx.nn as nn
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

x, one = mx.array(0.0), mx.array(1.0)
wrong = False
for name, f in (("mlx.nn.elu", nn.elu), ("mlx.nn.celu", nn.celu)):
    reverse = mx.grad(lambda x: f(x))(x).item()
    forward = mx.jvp(lambda x: f(x), [x], [one])[1][0].item()
    sides = [((f(x + h) - f(x)) / h).item() for h in (2.0**-10, -(2.0**-10))]
    print(f"{name} at 0: expected 1 (differences {sides}), reverse mode {reverse}, forward mode {forward}")
    wrong = wrong or reverse != 1.0 or forward != 1.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

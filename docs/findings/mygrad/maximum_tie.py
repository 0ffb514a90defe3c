"""MyGrad: the gradient of maximum and minimum is 0 by both operands where they are equal, so that of maximum(x, x) is 0, and clip at a bound that moves along, too.

The documentation says that maximum is equivalent to where(x1 >= x2, x1, x2), whose gradient is 1 by the first. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import mygrad as mg
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name, f in (
    ("maximum(x, x)", lambda x: mg.maximum(x, x)),
    ("minimum(x, x)", lambda x: mg.minimum(x, x)),
    ("clip(x, x - 1.5, x)", lambda x: mg.clip(x, x - 1.5, x)),
    ("where(x >= x, x, x)", lambda x: mg.where(x.data >= x.data, x, x)),
):
    x = mg.tensor(0.75)
    f(x).backward()
    got = 0.0 if x.grad is None else float(x.grad)
    print(f"d/dx {name} at 0.75: expected 1.0, got {got}")
    wrong = wrong or got != 1.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

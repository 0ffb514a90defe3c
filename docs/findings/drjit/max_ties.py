"""dr.max and dr.min of equal entries: each of them gets the whole derivative.

The largest of (x, x, x) is x, whose derivative is 1. Forward and reverse mode say 3. dr.maximum, which chooses one of two, is right.
Prints expected and got, and exits with 1 while they differ, 125 where Dr.Jit is missing.
"""

import sys

try:
    import drjit as dr
    from drjit.llvm.ad import Float64, UInt32
except ImportError as error:
    print(error)
    sys.exit(125)


def reverse(f):
    x = Float64([0.75])
    dr.enable_grad(x)
    dr.backward(f(x))
    return dr.grad(x)[0]


def forward(f):
    x = Float64([0.75])
    dr.enable_grad(x)
    y = f(x)
    dr.forward(x)
    return dr.grad(y)[0]


def copies(x):
    return dr.gather(Float64, x, dr.zeros(UInt32, 3))


wrong = False
for name, f in (
    ("max of three", lambda x: dr.max(copies(x))),
    ("min of three", lambda x: dr.min(copies(x))),
    ("maximum of two", lambda x: dr.maximum(x, x)),
):
    got = [reverse(f), forward(f)]
    print(f"{name}: expected [1.0, 1.0], got {got}")
    wrong = wrong or got != [1.0, 1.0]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

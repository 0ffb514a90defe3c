"""Forward mode through a symbolic dr.while_loop with a dr.if_stmt inside raises where the body computes a product that nobody uses.

    The carry stays 1, with the derivative 0, for both entries of x; acc * x in the body is dead code.

RuntimeError: "jit_var_schedule: not permitted", of a symbolic variable, where the carry begins with one entry and x has two. Without the product, or with
two entries in the carry, it is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import drjit as dr
    from drjit.llvm.ad import Float64, Int64
except ImportError:
    sys.exit(125)


def carry(x, start, product):
    def body(i, acc, n, x):
        unused = acc * x if product else None
        (acc,) = dr.if_stmt((acc, x), x > 1.0, lambda acc, x: (Float64(1.0),), lambda acc, x: (acc,), mode="symbolic")
        del unused
        return i + Int64(1), acc, n, x

    return dr.while_loop((Int64(0), start, Int64(2), x), lambda i, acc, n, x: i < n, body, mode="symbolic")[1]


wrong = False
for name, start, product in (
    ("two entries", Float64([1.0, 1.0]), True),
    ("one entry, no product", Float64(1.0), False),
    ("one entry", Float64(1.0), True),
):
    x = Float64([0.5, 0.7])
    dr.enable_grad(x)
    y = carry(x, start, product)
    try:
        dr.forward_from(x)
        got = list(dr.grad(y))
    except RuntimeError as error:
        got = f"RuntimeError: {str(error).splitlines()[0]}"
    print(f"drjit {dr.__version__}: a carry of {name}: expected [0.0, 0.0], got {got}")
    wrong = wrong or got != [0.0, 0.0]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

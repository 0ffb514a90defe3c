"""Reverse mode through dr.max and dr.min over the first of two axes raises: they loop inside, and say nothing of the trips.

    The greatest entry of each column of [[0, 1], [2, 3]] has the derivatives [[0, 0], [1, 1]].

RuntimeError: "LoopOp::backward(): reverse-mode differentiation of this loop requires a 'max_iterations' hint". Over the last axis, or all of them, it is right.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import drjit as dr
    from drjit.llvm.ad import Float64, TensorXf64
except ImportError:
    sys.exit(125)

wrong = False
for name, function, axis, expected in (
    ("max", dr.max, 0, [0.0, 0.0, 1.0, 1.0]),
    ("max", dr.max, 1, [0.0, 1.0, 0.0, 1.0]),
    ("max", dr.max, None, [0.0, 0.0, 0.0, 1.0]),
    ("min", dr.min, 0, [1.0, 1.0, 0.0, 0.0]),
    ("sum", dr.sum, 0, [1.0, 1.0, 1.0, 1.0]),
):
    x = TensorXf64(Float64([0.0, 1.0, 2.0, 3.0]), (2, 2))
    dr.enable_grad(x)
    try:
        dr.backward_from(function(x, axis=axis))
        got = list(dr.grad(x).array)
    except RuntimeError as error:
        got = f"RuntimeError: {str(error)[:100]}..."
    print(f"drjit {dr.__version__}: {name} over axis {axis}: expected {expected}, got {got}")
    wrong = wrong or got != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)

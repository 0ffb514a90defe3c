"""Reverse mode through dr.transpose (and dr.moveaxis, made of the same gather) where the tensor is used elsewhere, too: the other part is lost.

    sum(x * transpose(x, (0,))) is the sum of the squares, with the derivative 2 x.

drjit gathers with ReduceMode.Permute, and on the way back scatters what belongs to the transpose over what the tensor has got from elsewhere, rather
than adding it. Forward mode is right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import drjit as dr
    from drjit.llvm.ad import Float64, TensorXf64
except ImportError:
    sys.exit(125)

wrong = False
for name, shape, function, expected in (
    ("sum(x * transpose(x, (0,)))", (2,), lambda x: dr.sum(x * dr.transpose(x, (0,))), [2.0, 4.0]),
    ("x @ transpose(x, (0,))", (2,), lambda x: x @ dr.transpose(x, (0,)), [2.0, 4.0]),
    ("sum(x @ transpose(x, (1, 0)))", (2, 1), lambda x: dr.sum((x @ dr.transpose(x, (1, 0))).array), [6.0, 6.0]),
    ("sum(x * (1 * x))", (2,), lambda x: dr.sum(x * (1.0 * x)), [2.0, 4.0]),
):
    x = TensorXf64(Float64([1.0, 2.0]), shape)
    dr.enable_grad(x)
    dr.backward(function(x))
    got = list(dr.grad(x).array)
    bad = got != expected
    wrong = wrong or bad
    print(f"drjit {dr.__version__}: {name}: expected {expected}, got {got}{'  wrong' if bad else ''}")
sys.exit(1 if wrong else 0)

"""torch.autograd.grad of a forward-mode derivative raises for linalg.matrix_norm with ord inf, -inf, 1 and -1, and for linalg.vector_norm with ord 1.

Away from ties and zeros these norms are sums of absolute values, so their second derivatives are 0. Exits with 1 while one of them raises.
"""

import sys

import torch
import torch.autograd.forward_ad as forward_ad

x = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64, requires_grad=True)
v = torch.ones_like(x)
raised = False
for name, ord in (("matrix_norm", float("inf")), ("matrix_norm", 1), ("vector_norm", 1)):
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(getattr(torch.linalg, name)(forward_ad.make_dual(x, v), ord=ord)).tangent
        try:
            (second,) = torch.autograd.grad(tangent, x)
            got, right = second.tolist(), not second.any()
        except RuntimeError as error:
            got, right = f"RuntimeError: {str(error)[:140]}", False
    raised |= not right
    print(f"torch {torch.__version__}: {name}, ord {ord}: expected zeros, got {got}")
sys.exit(1 if raised else 0)

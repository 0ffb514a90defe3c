"""torch.autograd.grad of a forward-mode derivative raises for linalg.matrix_norm with ord inf, -inf, 1 and -1, and for linalg.vector_norm and renorm with ord 1.

Away from ties and zeros these norms are sums of absolute values, so their second derivatives are 0; so are those of renorm where nothing is longer than is allowed, for it returns its argument. Exits with 1 while one of them raises.
"""

import sys

import torch
import torch.autograd.forward_ad as forward_ad

x = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64, requires_grad=True)
v = torch.ones_like(x)
functions = {
    "matrix_norm, ord inf": lambda x: torch.linalg.matrix_norm(x, ord=float("inf")),
    "matrix_norm, ord 1": lambda x: torch.linalg.matrix_norm(x, ord=1),
    "vector_norm, ord 1": lambda x: torch.linalg.vector_norm(x, ord=1),
    "renorm, ord 1": lambda x: torch.renorm(x, 1.0, 1, 10.0),
}
raised = False
for name, f in functions.items():
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent
        try:
            (second,) = torch.autograd.grad(tangent.sum(), x)
            got, right = second.tolist(), not second.any()
        except RuntimeError as error:
            got, right = f"RuntimeError: {str(error)[:140]}", False
    raised |= not right
    print(f"torch {torch.__version__}: {name}: expected zeros, got {got}")
sys.exit(1 if raised else 0)

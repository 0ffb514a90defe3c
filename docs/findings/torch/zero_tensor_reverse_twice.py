"""torch.autograd.grad twice over a forward-mode derivative raises "ZeroTensors are immutable" for c * (x * (x * x)), and once for x * x + x * sgn(x).

The third derivative of c x^3 is 6 c, and the second one of x^2 + x, which the other function is for x > 0, is 2, in forward mode over reverse mode. With create_graph=True in the last call too, which is not needed, the answer is right.
Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch
import torch.autograd.forward_ad as forward_ad


def third(f, create_graph):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x)))).tangent
        (second,) = torch.autograd.grad(tangent, x, create_graph=True)
        return torch.autograd.grad(second, x, create_graph=create_graph)[0].item()


raised = False
for factor in (0.0, 1.0, 2.0):
    for create_graph in (True, False):
        try:
            got = third(lambda x: factor * (x * (x * x)), create_graph)
            assert got == 6 * factor
        except RuntimeError as error:
            got, raised = f"RuntimeError: {error}", True
        print(f"torch {torch.__version__}: {factor} x^3, create_graph={create_graph}: expected {6 * factor}, got {got}")


def second(f):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        (slope,) = torch.autograd.grad(f(dual), dual)
        return forward_ad.unpack_dual(slope).tangent.item()


for name, f in (("x * x + x", lambda x: x * x + x), ("x * x + x * sgn(x)", lambda x: x * x + x * x.sgn())):
    try:
        got = second(f)
        assert got == 2.0
    except RuntimeError as error:
        got, raised = f"RuntimeError: {error}", True
    print(f"torch {torch.__version__}: {name}: expected 2.0, got {got}")
sys.exit(1 if raised else 0)

"""torch.autograd.grad of a forward-mode derivative raises for softmax, logsumexp and their kin.

The derivative along (1, 2) of w . y, y = softmax(x), is the sum of w_i y_i (v_i - m) with m the mean of v weighted with y. It is computed; its gradient
by autograd.grad ends in "one of the variables needed for gradient computation has been modified by an inplace operation", for the value is
overwritten while the tangent is made. torch.func.grad of torch.func.jvp is right. Exits with 1 while one of them raises.
"""

import sys

import torch
import torch.autograd.forward_ad as forward_ad

x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
v = torch.tensor([1.0, 2.0], dtype=torch.float64)
raised = []
for op in (torch.softmax, torch.log_softmax, torch.logsumexp, torch.logcumsumexp):
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(op(forward_ad.make_dual(x, v), 0).sin().sum()).tangent
        try:
            print(op.__name__, torch.autograd.grad(tangent, x)[0].tolist())
        except RuntimeError as error:
            raised.append(op.__name__)
            print(op.__name__, "RuntimeError:", str(error)[:80])
print(f"torch {torch.__version__}: raised in {', '.join(raised) or 'none'}")
sys.exit(1 if raised else 0)

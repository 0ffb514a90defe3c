"""Derivatives over the forward-mode derivative of torch's layer_norm and batch_norm, and of instance_norm, which is made of the latter.

    layer_norm([t, 0], eps=1/4) = [z, -z] with z = t / sqrt(t^2 + 1), so z'' = -3 t / (t^2 + 1)^(5/2).

torch's rule for the tangent reads the mean and the inverse standard deviation that the primal has saved, and nothing tells the next derivative that they
depend on x. (rev, rev) and (rev, fwd) are right. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
import torch.nn.functional as F


def layer(t):
    return F.layer_norm(torch.stack([t, torch.zeros_like(t)]), (2,), eps=0.25)[0]


def batch(t):
    return F.batch_norm(torch.stack([t, torch.zeros_like(t)]).reshape(2, 1), None, None, training=True, eps=0.25)[0, 0]


def slope(f):
    return lambda t: torch.func.jvp(f, (t,), (torch.ones_like(t),))[1]


expected = -3 * 0.75 / (0.75**2 + 1) ** 2.5
t = torch.tensor(0.75, dtype=torch.float64)
wrong = False
for name, f in (("layer_norm", layer), ("batch_norm", batch)):
    for modes, got in (
        ("rev, rev", torch.func.grad(torch.func.grad(f))(t)),
        ("fwd, rev", torch.func.grad(slope(f))(t)),
        ("fwd, fwd", slope(slope(f))(t)),
    ):
        bad = abs(got.item() - expected) > 1e-10
        wrong = wrong or bad
        print(f"torch {torch.__version__}, {name}, ({modes}): expected {expected!r}, got {got.item()!r}{'  wrong' if bad else ''}")
sys.exit(1 if wrong else 0)

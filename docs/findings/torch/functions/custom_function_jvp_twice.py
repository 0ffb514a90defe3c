"""Forward mode twice through a custom torch.autograd.Function is 0.

    cube(x) = x^3 with jvp 3 x^2 t: the second derivative is 6 x

Reverse mode over its forward mode is right. Prints expected and got, and exits with 1 while forward mode over
forward mode has another second derivative.
"""

import sys

import torch


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, cotangent):
        (x,) = ctx.saved_tensors
        return 3.0 * x**2 * cotangent

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3.0 * x**2 * tangent


def slope(x):
    return torch.func.jvp(Cube.apply, (x,), (torch.ones_like(x),))[1]


x = torch.tensor(-1.25, dtype=torch.float64)
_, got = torch.func.jvp(slope, (x,), (torch.ones_like(x),))
expected, by_reverse = 6.0 * x.item(), torch.func.grad(slope)(x).item()
print(f"torch {torch.__version__}: forward over forward {got.item()}, reverse over forward {by_reverse}")
print(f"expected {expected}")
sys.exit(1 if abs(got.item() - expected) > 1e-12 else 0)

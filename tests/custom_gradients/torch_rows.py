"""Custom gradients in Torch."""

from __future__ import annotations

import numpy as np

from tests.custom_gradients.row import Made, Table

TABLE = Table("torch")

X = np.array([0.75, -1.25, 0.375])
Y = np.array([-0.5, 1.5, 2.25])
A = np.array([[2.0, 0.5, -0.25], [0.75, 3.0, 0.5], [-0.5, 0.25, 1.5]])


def tensors(*arrays):
    import torch

    return tuple(torch.tensor(a) for a in arrays)


def function(forward, backward, jvp=None):
    """An autograd.Function that saves its inputs and its output: backward(saved, g), saved = (*inputs,
    output).
    """
    import torch

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    members = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(save),
        "backward": staticmethod(lambda ctx, g: backward(ctx.saved_tensors, g)),
    }
    if jvp is not None:
        members["jvp"] = staticmethod(lambda ctx, *tangents: jvp(ctx.saved_tensors, *tangents))
    return type("Custom", (torch.autograd.Function,), members)


@TABLE.right
def inverse():
    import torch

    return Made(function(lambda a: torch.linalg.inv(a), lambda s, g: -s[1].mT @ g @ s[1].mT), tensors(A))


@TABLE.wrong("the inverse is not transposed")
def determinant_untransposed():
    import torch

    return Made(
        function(lambda a: torch.linalg.det(a), lambda s, g: g * s[1] * torch.linalg.inv(s[0])), tensors(A)
    )


@TABLE.right
def cube_twice():
    f = function(lambda x: x**3, lambda s, g: 3.0 * s[0] ** 2 * g, lambda s, t: 3.0 * s[0] ** 2 * t)
    return Made(f.apply, tensors(X), {"order": 2})


@TABLE.right
def broadcast_sum():
    return Made(function(lambda x, b: x * b, lambda s, g: (g * s[1], (g * s[0]).sum(0))), tensors(A, X))


@TABLE.wrong("the gradient of a broadcast operand is a mean")
def broadcast_mean():
    return Made(function(lambda x, b: x * b, lambda s, g: (g * s[1], (g * s[0]).mean(0))), tensors(A, X))


@TABLE.right
def complex_product():
    times = function(lambda z, w: z * w, lambda s, g: (g * s[1].conj(), g * s[0].conj()))
    return Made(
        times.apply, tensors(np.array([1.0 + 2.0j, 0.5 - 1.5j]), np.array([0.25 - 1.0j, 2.0 + 0.75j]))
    )


@TABLE.wrong("the conjugate is missing")
def complex_product_unconjugated():
    import torch

    times = function(lambda z, w: z * w, lambda s, g: (g * s[1], g * s[0]))
    return Made(
        lambda x, y: torch.view_as_real(times.apply(torch.complex(x, y), torch.complex(y, x * x))),
        tensors(X, Y),
    )


@TABLE.wrong("the saved output is changed in place afterwards")
def output_mutated():
    import torch

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x.exp()
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y

    return Made(lambda x: Exp.apply(x).mul_(1.5), tensors(X))


@TABLE.wrong("no gradient for the second argument")
def argument_forgotten():
    return Made(function(lambda x, y: x * y * y, lambda s, g: (g * s[1] ** 2, None)), tensors(X, Y))


@TABLE.wrong("the sign of the argument is forgotten")
def root_of_size():
    import torch

    return Made(function(lambda x: torch.sqrt(torch.abs(x)), lambda s, g: g / (2.0 * s[1])), tensors(X))


@TABLE.wrong("the forward mode is half of what it is")
def jvp_halved():
    import torch

    f = function(
        lambda x: torch.sin(x), lambda s, g: g * torch.cos(s[0]), lambda s, t: 0.5 * t * torch.cos(s[0])
    )
    return Made(f, tensors(X))


@TABLE.right
def log_softmax_far_out():
    import torch

    def backward(s, g):
        return g - torch.exp(s[1]) * g.sum()

    return Made(
        function(lambda x: torch.log_softmax(x, 0), backward), tensors(np.array([600.0, 590.0, -20.0]))
    )

"""The entry points to torch's derivatives. Reproducers show the source of these functions.

All differentiate the sum of weight * output of `f`, a function of the tensors `xs` that returns a tuple; an
output with weight None does not count. `modes` goes from the innermost derivative to the outermost; all but
the last are taken along `directions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

Tensors = Sequence[torch.Tensor]
Weights = Sequence[torch.Tensor | None]
Function = Callable[..., Sequence[Any]]
Differentiated = tuple[Sequence[Any], Tensors]
"""The outputs, and the gradient."""


def reverse(terms: Iterable[tuple[Any, Any]], xs: Tensors, more: bool) -> Tensors:
    """The gradient of the sum of weight * y over `terms`, by torch.autograd.grad; `more` says that it is
    differentiated again.
    """
    active = [(y, w) for y, w in terms if w is not None and y.requires_grad]
    if not active:
        return [torch.zeros_like(x) for x in xs]
    ys, ws = zip(*active, strict=True)
    return torch.autograd.grad(ys, xs, ws, create_graph=more, allow_unused=True, materialize_grads=True)


def by_reverse(f: Function, xs: Tensors, weights: Weights, directions: Tensors, order: int) -> Differentiated:
    """The outputs of `f` and the gradient, in reverse mode `order` times."""
    xs = [x.detach().requires_grad_() for x in xs]
    outputs = f(*xs)
    gradient = reverse(zip(outputs, weights, strict=True), xs, order > 1)
    for step in range(1, order):
        gradient = reverse(zip(gradient, directions, strict=True), xs, step + 1 < order)
    return outputs, gradient


def by_autograd(
    f: Function, xs: Tensors, weights: Weights, directions: Tensors, modes: Sequence[str]
) -> Differentiated:
    """The outputs of `f` and the gradient, by torch.autograd.grad ("rev") and torch.autograd.forward_ad
    ("fwd", once).
    """

    def derivative(tangents: Tensors) -> Differentiated:
        leaves = [x.detach().requires_grad_("rev" in modes) for x in xs]
        duals = f(*[forward_ad.make_dual(x, t) for x, t in zip(leaves, tangents, strict=True)])
        outputs = [
            y if w is None else forward_ad.unpack_dual(y).primal for y, w in zip(duals, weights, strict=True)
        ]
        terms = [(y, w) for y, w in zip(duals, weights, strict=True) if w is not None]
        gradient: Tensors = []
        for step, mode in enumerate(modes):
            if mode == "rev":
                gradient = reverse(terms, leaves, step + 1 < len(modes))
                terms = list(zip(gradient, directions, strict=True))
            else:
                slopes = [(_tangent(y, xs[0].dtype), w) for y, w in terms]
                terms = [(slope, w) for slope, w in slopes if slope is not None]
                zero = torch.zeros((), dtype=xs[0].dtype)
                gradient = [sum([(slope * w).sum() for slope, w in terms], zero)]
        return outputs, gradient

    with forward_ad.dual_level():
        return each_direction(derivative, xs) if modes[-1] == "fwd" else derivative(directions)


def _tangent(dual: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """The tangent of a result in `dtype`, that of the inputs. One whose dtype is not that of its own value
    stays as it is, so that it can be told.
    """
    value, tangent = forward_ad.unpack_dual(dual)
    return tangent if tangent is None or tangent.dtype != value.dtype else tangent.to(dtype)


def each_direction(derivative: Callable[[Tensors], Differentiated], xs: Tensors) -> Differentiated:
    """A gradient from the derivatives along all unit directions."""
    outputs: Sequence[Any] = []
    zeros = [torch.zeros_like(x) for x in xs]
    gradient = []
    for k, x in enumerate(xs):
        slopes = []
        for unit in torch.eye(x.numel(), dtype=x.dtype, device=x.device):
            outputs, (slope,) = derivative([*zeros[:k], unit.reshape(x.shape), *zeros[k + 1 :]])
            slopes.append(slope.detach())
        gradient.append(torch.stack(slopes).reshape(x.shape) if slopes else zeros[k])
    if all(x.numel() == 0 for x in xs):
        outputs, _ = derivative(gradient)
    return outputs, gradient


def by_func(f: Function, xs: Tensors, weights: Weights, directions: Tensors, modes: Sequence[str]) -> Tensors:
    """The gradient, by torch.func: vjp, grad, jvp and jacfwd. jacfwd maps over the entries of an input; about
    one that has none it is not asked, since products of numbers raise there.
    """
    kept = [k for k, w in enumerate(weights) if w is not None]
    cotangents = tuple(weights[k] for k in kept)
    every = tuple(range(len(xs)))

    def outputs(*xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ys = f(*xs)
        return tuple(ys[k] for k in kept)

    def objective(*xs: torch.Tensor) -> torch.Tensor:
        terms = [(w * y).sum() for w, y in zip(cotangents, outputs(*xs), strict=True)]
        return sum(terms[1:], terms[0]) if terms else torch.zeros((), dtype=xs[0].dtype)

    def along(g: Callable[..., torch.Tensor], mode: str) -> Callable[..., torch.Tensor]:
        def forward(*xs: torch.Tensor) -> torch.Tensor:
            return torch.func.jvp(g, xs, tuple(directions))[1]

        def reverse(*xs: torch.Tensor) -> torch.Tensor:
            return sum(
                [(s * v).sum() for s, v in zip(torch.func.grad(g, every)(*xs), directions, strict=True)]
            )

        return forward if mode == "fwd" else reverse

    if list(modes) == ["rev"]:
        return torch.func.vjp(outputs, *xs)[1](cotangents)
    g = objective
    for mode in modes[:-1]:
        g = along(g, mode)
    if modes[-1] == "rev":
        return torch.func.grad(g, every)(*xs)
    filled = tuple(k for k, x in enumerate(xs) if x.numel())
    slopes = iter(torch.func.jacfwd(g, filled)(*xs) if filled else outputs(*xs)[:0])
    return tuple(next(slopes) if x.numel() else torch.zeros_like(x) for x in xs)


def by_jacobians(
    f: Function, xs: Tensors, weights: Weights, directions: Tensors, modes: Sequence[str]
) -> Tensors:
    """The gradient, by torch.func.jacrev and jacfwd: whole Jacobians, each multiplied by the weights or
    directions when it is there.
    """
    every = tuple(range(len(xs)))

    def outputs(*xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(y for y, w in zip(f(*xs), weights, strict=True) if w is not None)

    def times(g: Callable[..., Any], factors: Tensors, mode: str) -> Callable[..., Any]:
        jacobian = torch.func.jacrev(g, every) if mode == "rev" else torch.func.jacfwd(g, every)

        def product(*xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            rows = jacobian(*xs)
            return tuple(
                sum(
                    [torch.tensordot(w, row[k], w.ndim) for w, row in zip(factors, rows, strict=True)],
                    torch.zeros_like(xs[k]),
                )
                for k in every
            )

        return product

    g: Callable[..., Any] = outputs
    factors: Tensors = [w for w in weights if w is not None]
    for mode in modes:
        g, factors = times(g, factors, mode), directions
    gradient: Tensors = g(*xs)
    return gradient

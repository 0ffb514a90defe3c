"""Twenty custom ops of Torch with rules of their own, as a user writes them.

With GRADFUZZ_BROKEN=1 in the environment every rule has one mistake, of the kinds that people make; the ops
themselves stay as they are.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

IS_BROKEN = os.environ.get("GRADFUZZ_BROKEN") == "1"

Rule = Callable[..., Any]


def ruled(op: Any, right: Rule, broken: Rule) -> None:
    """Gives an op its rule: a function of the context and the gradients of the results. The context has the
    arguments of the op as `saved_tensors`, and those that are no tensors as `rest`.
    """

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*[x for x in inputs if isinstance(x, Tensor)])
        ctx.rest = [x for x in inputs if not isinstance(x, Tensor)]

    op.register_autograd(broken if IS_BROKEN else right, setup_context=setup)


def name(function: Callable[..., Any]) -> Any:
    """The op of a function of real arrays, for which alone there are rules."""

    @functools.wraps(function)
    def of_reals(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Tensor) and x.is_complex() for x in args):
            raise TypeError(f"{function.__name__} takes real arrays")
        return function(*args, **kwargs)

    return custom_op(f"gradfuzz_tests::{function.__name__}", mutates_args=())(of_reals)


def summed_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over the axes along which an array of `shape` was repeated."""
    g = g.sum(tuple(range(g.ndim - len(shape)))) if g.ndim > len(shape) else g
    repeated = tuple(k for k, n in enumerate(shape) if n == 1 and g.shape[k] != 1)
    return g.sum(repeated, keepdim=True) if repeated else g


@name
def cube(x: Tensor) -> Tensor:
    return x**3


def _cube(ctx: Any, g: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    return 3.0 * x**2 * g


def _cube_factor(ctx: Any, g: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    return 2.0 * x**2 * g


ruled(cube, _cube, _cube_factor)


@name
def cosine(x: Tensor) -> Tensor:
    return x.cos()


ruled(
    cosine,
    lambda ctx, g: -ctx.saved_tensors[0].sin() * g,
    lambda ctx, g: ctx.saved_tensors[0].sin() * g,  # the sign
)


@name
def swish(x: Tensor) -> Tensor:
    return x * x.sigmoid()


def _swish(ctx: Any, g: Tensor) -> Tensor:
    s = ctx.saved_tensors[0].sigmoid()
    return g * (s + ctx.saved_tensors[0] * s * (1.0 - s))


ruled(swish, _swish, lambda ctx, g: g * ctx.saved_tensors[0].sigmoid())  # a term is missing


@name
def added(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def _added(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = ctx.saved_tensors
    return summed_to(g, x.shape), summed_to(g, y.shape)


def _added_unsummed(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    """What was repeated is not summed over, but one entry of it taken."""
    x, y = ctx.saved_tensors
    shape = g.shape
    rows = tuple(slice(0, 1) if n == 1 else slice(None) for n in (1,) * (len(shape) - y.ndim) + y.shape)
    return summed_to(g, x.shape), g[rows].reshape(y.shape)


ruled(added, _added, _added_unsummed)


@name
def multiplied(x: Tensor, y: Tensor) -> Tensor:
    return x * y


def _multiplied(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = ctx.saved_tensors
    return summed_to(g * y, x.shape), summed_to(g * x, y.shape)


def _multiplied_swapped(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = ctx.saved_tensors
    return summed_to(g * x, x.shape), summed_to(g * y, y.shape)


ruled(multiplied, _multiplied, _multiplied_swapped)


@name
def divided(x: Tensor, y: Tensor) -> Tensor:
    return x / y


def _divided(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = ctx.saved_tensors
    return summed_to(g / y, x.shape), summed_to(-g * x / y**2, y.shape)


def _divided_raises(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    """It is right for arrays of the same shape, and raises for others."""
    x, y = ctx.saved_tensors
    return (g / y).view(x.shape), (-g * x / y**2).view(y.shape)


ruled(divided, _divided, _divided_raises)


@name
def total(x: Tensor) -> Tensor:
    return x.sum()


ruled(
    total,
    lambda ctx, g: g.expand(ctx.saved_tensors[0].shape).clone(),
    lambda ctx, g: (g / max(1, ctx.saved_tensors[0].numel())).expand(ctx.saved_tensors[0].shape).clone(),
)


@name
def average(x: Tensor, keepdim: bool = False) -> Tensor:
    return x.mean(-1, keepdim=keepdim)


def _average(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    (x,), (keepdim,) = ctx.saved_tensors, ctx.rest
    g = g if keepdim else g.unsqueeze(-1)
    return (g / x.shape[-1]).expand(x.shape).clone(), None


def _average_of_all(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    """It divides by the count of all entries; of a vector that is right."""
    (x,), (keepdim,) = ctx.saved_tensors, ctx.rest
    g = g if keepdim else g.unsqueeze(-1)
    return (g / x.numel()).expand(x.shape).clone(), None


ruled(average, _average, _average_of_all)


@name
def product(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def _product(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    a, b = ctx.saved_tensors
    if a.ndim != 2 or b.ndim != 2:
        raise NotImplementedError("its rule is not implemented for other than matrices")
    return g @ b.mT, a.mT @ g


def _product_transposed(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    a, b = ctx.saved_tensors
    if a.ndim != 2 or b.ndim != 2 or len({*a.shape, *b.shape}) > 1:
        return _product(ctx, g)
    return g @ b, a.mT @ g  # of square matrices no shape tells


ruled(product, _product, _product_transposed)


@name
def running_sum(x: Tensor) -> Tensor:
    return x.cumsum(-1)


ruled(
    running_sum,
    lambda ctx, g: g.flip(-1).cumsum(-1).flip(-1),
    lambda ctx, g: g.cumsum(-1),  # in the wrong direction
)


@name
def rectified(x: Tensor, slope: float = 0.1) -> Tensor:
    return torch.where(x > 0, x, slope * x)


def _rectified(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    return torch.where(ctx.saved_tensors[0] > 0, g, ctx.rest[0] * g), None


def _rectified_usual(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    """It takes the slope to be the default."""
    return torch.where(ctx.saved_tensors[0] > 0, g, 0.1 * g), None


ruled(rectified, _rectified, _rectified_usual)


@name
def magnitude(x: Tensor) -> Tensor:
    return x.abs()


ruled(magnitude, lambda ctx, g: g * ctx.saved_tensors[0].sgn(), lambda ctx, g: g.clone())  # of negative x


@name
def logistic(x: Tensor) -> Tensor:
    return x.sigmoid()


def _logistic(ctx: Any, g: Tensor) -> Tensor:
    s = ctx.saved_tensors[0].sigmoid()
    return g * s * (1.0 - s)


def _logistic_held(ctx: Any, g: Tensor) -> Tensor:
    """The first derivative is right; what it depends on is cut off, and the second one is 0."""
    s = ctx.saved_tensors[0].detach().sigmoid()
    return g * s * (1.0 - s)


ruled(logistic, _logistic, _logistic_held)


@name
def exponential(x: Tensor) -> Tensor:
    return x.exp()


ruled(
    exponential,
    lambda ctx, g: g * ctx.saved_tensors[0].exp(),
    lambda ctx, g: 1.001 * g * ctx.saved_tensors[0].exp(),
)


@name
def arctangent(x: Tensor) -> Tensor:
    return x.atan()


ruled(
    arctangent,
    lambda ctx, g: g / (1.0 + ctx.saved_tensors[0] ** 2),
    lambda ctx, g: (g.float() / (1.0 + ctx.saved_tensors[0].float() ** 2)).to(g.dtype),  # in single precision
)


@name
def distance(x: Tensor, y: Tensor) -> Tensor:
    return ((x - y) ** 2).sum()


def _distance(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = ctx.saved_tensors
    return summed_to(2.0 * g * (x - y), x.shape), summed_to(2.0 * g * (y - x), y.shape)


def _distance_of_one(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    """The second argument gets no gradient."""
    x, y = ctx.saved_tensors
    return summed_to(2.0 * g * (x - y), x.shape), None


ruled(distance, _distance, _distance_of_one)


@name
def taken(x: Tensor, index: Tensor) -> Tensor:
    if index.dtype != torch.int64:
        raise TypeError("taken takes an index of integers")
    return x.reshape(-1)[index.reshape(-1)]


def _taken(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    x, index = ctx.saved_tensors
    return g.new_zeros(x.numel()).index_add(0, index.reshape(-1), g).reshape(x.shape), None


def _taken_once(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    """Of an entry that is taken twice one gradient is written over the other."""
    x, index = ctx.saved_tensors
    return g.new_zeros(x.numel()).index_copy(0, index.reshape(-1), g).reshape(x.shape), None


ruled(taken, _taken, _taken_once)


@name
def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    return torch.sinh(x), torch.cosh(x)


def _halves(ctx: Any, g: Tensor, h: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    return g * torch.cosh(x) + h * torch.sinh(x)


ruled(halves, _halves, lambda ctx, g, h: g * torch.cosh(ctx.saved_tensors[0]))  # of one result only


@name
def weighted(x: Tensor, weight: float = 1.0, power: int = 2) -> Tensor:
    return weight * x**power


def _weighted(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
    (x,), (weight, power) = ctx.saved_tensors, ctx.rest
    return g * weight * power * x ** (power - 1) if power else 0.0 * x * g, None, None


def _weighted_not(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
    """The weight is forgotten."""
    (x,), (_, power) = ctx.saved_tensors, ctx.rest
    return g * power * x ** (power - 1) if power else 0.0 * x * g, None, None


ruled(weighted, _weighted, _weighted_not)


@name
def normalized(x: Tensor) -> Tensor:
    return x / (1.0 + (x * x).sum(-1, keepdim=True)).sqrt()


def _normalized(ctx: Any, g: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    n = (1.0 + (x * x).sum(-1, keepdim=True)).sqrt()
    return g / n - x * (g * x).sum(-1, keepdim=True) / n**3


def _normalized_alone(ctx: Any, g: Tensor) -> Tensor:
    """As if each entry were normalized by itself."""
    (x,) = ctx.saved_tensors
    n = (1.0 + (x * x).sum(-1, keepdim=True)).sqrt()
    return g / n - x * g * x / n**3


ruled(normalized, _normalized, _normalized_alone)

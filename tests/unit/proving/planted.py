"""Functions whose rules have a term too many, of any size, in JAX and Torch: elementwise, in loops, of
matrices. With a size of 0 the rules are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch

POINT = np.array([0.5, -0.75, 1.25])
MATRIX = np.array([[2.0, 0.5], [0.25, 1.5]])


class Planted(NamedTuple):
    """A function of one array with a rule of its own, and where it is asked."""

    name: str
    framework: str
    f: Callable[..., Any]
    at: np.ndarray[Any, Any]
    mode: str


PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    # (x, the namespace) -> the function, and its derivative (x, the function's value)
    "exp": (lambda x, m: m.exp(x), lambda x, y, m: y),
    "sin": (lambda x, m: m.sin(x), lambda x, y, m: m.cos(x)),
    "log1p": (lambda x, m: m.log1p(x * x), lambda x, y, m: 2 * x / (1 + x * x)),
    "tanh": (lambda x, m: m.tanh(x), lambda x, y, m: 1 - y * y),
    "root": (lambda x, m: m.sqrt(1 + x * x), lambda x, y, m: x / y),
    "cube": (lambda x, m: x * x * x, lambda x, y, m: 3 * x * x),
    "inverse": (lambda x, m: 1 / (2 + x * x), lambda x, y, m: -2 * x * y * y),
    "atan": (lambda x, m: m.atan(x), lambda x, y, m: 1 / (1 + x * x)),
}


def planted(size: float) -> Iterator[Planted]:
    """41 functions whose rules are off by `size` times a term of the size of the rule."""
    for name, (f, slope) in PAIRS.items():
        for mode in ("rev", "fwd"):
            yield Planted(f"jax jvp {name} {mode}", "jax", _by_jvp(f, slope, size), POINT, mode)
        yield Planted(f"jax vjp {name}", "jax", _by_vjp(f, slope, size), POINT, "rev")
        yield Planted(f"torch {name}", "torch", _by_torch(f, slope, size), POINT, "rev")
    for name in ("exp", "tanh", "atan"):
        own = _by_jvp(*PAIRS[name], size)
        yield Planted(f"jax scan {name}", "jax", _scanned(own), POINT, "rev")
    for name in ("sin", "cube"):
        own = _by_torch(*PAIRS[name], size)
        yield Planted(f"torch loop {name}", "torch", _repeated(own), POINT, "rev")
    yield Planted("jax inv", "jax", _inverse(size), MATRIX, "rev")
    yield Planted("jax product", "jax", _product(size), MATRIX, "rev")
    yield Planted("torch inv", "torch", _torch_inverse(size), MATRIX, "rev")
    yield Planted("torch det", "torch", _torch_det(size), MATRIX, "rev")


def _by_jvp(f: Any, slope: Any, size: float) -> Any:
    @jax.custom_jvp
    def own(x: Any) -> Any:
        return f(x, _Jax)

    @own.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        y = own(x)
        return y, t * (slope(x, y, _Jax) + size * x * x) if size else t * slope(x, y, _Jax)

    return own


def _by_vjp(f: Any, slope: Any, size: float) -> Any:
    @jax.custom_vjp
    def own(x: Any) -> Any:
        return f(x, _Jax)

    def forward(x: Any) -> Any:
        y = f(x, _Jax)
        return y, (x, y)

    def backward(kept: Any, g: Any) -> Any:
        x, y = kept
        return (g * slope(x, y, _Jax) + (size * g * jnp.cos(x) if size else 0.0),)

    own.defvjp(forward, backward)
    return own


def _by_torch(f: Any, slope: Any, size: float) -> Any:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = f(x, torch)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * slope(x, y, torch) + (size * g * x.cos() if size else 0.0)

    return lambda x: Own.apply(x)


def _scanned(own: Any) -> Any:
    return lambda x: jax.lax.scan(lambda c, y: (own(c * y), c), x[0], x)[0]


def _repeated(own: Any) -> Any:
    def f(x: Any) -> Any:
        acc = x
        for _ in range(3):
            acc = own(acc * x)
        return acc

    return f


def _inverse(size: float) -> Any:
    @jax.custom_vjp
    def own(a: Any) -> Any:
        return jnp.linalg.inv(a)

    def forward(a: Any) -> Any:
        y = jnp.linalg.inv(a)
        return y, y

    own.defvjp(forward, lambda y, g: (-y.T @ g @ y.T + (size * g if size else 0.0),))
    return own


def _product(size: float) -> Any:
    @jax.custom_vjp
    def own(a: Any) -> Any:
        return a @ a

    own.defvjp(lambda a: (a @ a, a), lambda a, g: (g @ a.T + a.T @ g + (size * g @ a if size else 0.0),))
    return own


def _torch_inverse(size: float) -> Any:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            y = torch.linalg.inv(a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return -y.T @ g @ y.T + (size * g @ y if size else 0.0)

    return lambda a: Own.apply(a)


def _torch_det(size: float) -> Any:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            y = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
            ctx.save_for_backward(a, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, y = ctx.saved_tensors
            return g * y * torch.linalg.inv(a).T + (size * g * a if size else 0.0)

    return lambda a: Own.apply(a)


class _Jax:
    """The functions under the names that Torch has for them."""

    exp, sin, cos, log1p, tanh, sqrt, atan = (
        *(jnp.exp, jnp.sin, jnp.cos, jnp.log1p, jnp.tanh, jnp.sqrt),
        jnp.arctan,
    )

"""The entry points to JAX's derivatives. Reproducers show the source of these functions.

All differentiate the sum of weight * output of `f`, a function that returns a tuple; an output with weight
None does not count. `modes` goes from the innermost derivative to the outermost; all but the last are taken
along `directions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Arrays = tuple[Any, ...]
Function = Callable[..., Sequence[Any]]
Step = Callable[[Arrays], tuple[Arrays, Any]]
"""The differentiated values, and the values that are passed through."""
Derivative = Callable[[Function, Arrays, Sequence[Any], Arrays, Sequence[str]], tuple[Any, Arrays]]
"""(f, xs, weights, directions, modes) -> (outputs, gradient)."""


def weighted(weights: Sequence[Any], values: Sequence[Any], dtype: Any) -> Any:
    """The sum of weight * value."""
    terms = [jnp.sum(w * y) if jnp.ndim(y) else w * y for w, y in zip(weights, values, strict=True)]
    return sum(terms[1:], terms[0]) if terms else np.zeros((), dtype)


def gradient_of(step: Step, weights: Arrays, xs: Arrays, mode: str) -> tuple[Arrays, Any]:
    """The gradient of the weighted sum of step(xs): by one vjp, or by a jvp along every unit direction."""
    if mode == "rev":
        _, pull, outputs = jax.vjp(step, xs, has_aux=True)
        return pull(weights)[0], outputs

    def push(*tangents: Any) -> tuple[Any, Any]:
        _, slopes, outputs = jax.jvp(step, (xs,), (tangents,), has_aux=True)
        return weighted(weights, slopes, xs[0].dtype), outputs

    n = sum(x.size for x in xs)
    ends = np.cumsum([x.size for x in xs])
    units = [
        np.eye(n, dtype=x.dtype)[:, end - x.size : end].reshape(n, *x.shape)
        for x, end in zip(xs, ends, strict=True)
    ]
    if n == 1:  # no batch of directions
        slope, outputs = push(*(u[0] for u in units))
        return tuple(jnp.full(x.shape, slope) for x in xs), outputs
    slopes, outputs = jax.vmap(push, out_axes=(0, None), axis_size=n)(*units)
    return tuple(
        slopes[end - x.size : end].reshape(x.shape) for x, end in zip(xs, ends, strict=True)
    ), outputs


def along(step: Step, weights: Arrays, directions: Arrays, mode: str) -> tuple[Step, Arrays]:
    """The derivative of the weighted sum of step(xs) along `directions`, again as a function of xs and the
    weights of its values: the gradient, weighted by the directions, or the slopes, by the weights.
    """

    def gradient(xs: Arrays) -> tuple[Arrays, Any]:
        return gradient_of(step, weights, xs, "rev")

    def slopes(xs: Arrays) -> tuple[Arrays, Any]:
        _, slopes, outputs = jax.jvp(step, (xs,), (directions,), has_aux=True)
        return slopes, outputs

    return (gradient, directions) if mode == "rev" else (slopes, weights)


def derivative(
    f: Function, xs: Arrays, weights: Sequence[Any], directions: Arrays, modes: Sequence[str]
) -> tuple[Any, Arrays]:
    """The outputs of f(*xs) and the gradient with respect to each of xs."""
    step, active = before_the_last(f, weights, directions, modes)
    slopes, outputs = gradient_of(step, active, xs, modes[-1])
    return outputs, slopes


def before_the_last(
    f: Function, weights: Sequence[Any], directions: Arrays, modes: Sequence[str]
) -> tuple[Step, Arrays]:
    """All derivatives but the outermost, as a function of xs, and the weights of its values."""

    def outputs_of(xs: Arrays) -> tuple[Arrays, Any]:
        outputs = f(*xs)
        return tuple(y for y, w in zip(outputs, weights, strict=True) if w is not None), outputs

    step: Step = outputs_of
    active: Arrays = tuple(w for w in weights if w is not None)
    for mode in modes[:-1]:
        step, active = along(step, active, directions, mode)
    return step, active


def jacobians(
    f: Function, xs: Arrays, weights: Sequence[Any], directions: Arrays, modes: Sequence[str]
) -> tuple[Any, Arrays]:
    """The same by jax.jacrev and jax.jacfwd: whole Jacobians, each multiplied by the weights or directions
    when it is there.
    """

    def outputs_of(xs: Arrays) -> Arrays:
        return tuple(y for y, w in zip(f(*xs), weights, strict=True) if w is not None)

    def times(g: Callable[[Arrays], Arrays], factors: Arrays, mode: str) -> Callable[[Arrays], Arrays]:
        jacobian = jax.jacrev(g) if mode == "rev" else jax.jacfwd(g)

        def product(xs: Arrays) -> Arrays:
            rows = jacobian(xs)
            return tuple(
                sum(jnp.tensordot(w, row[k], jnp.ndim(w)) for w, row in zip(factors, rows, strict=True))
                for k in range(len(xs))
            )

        return product

    g: Callable[[Arrays], Arrays] = outputs_of
    factors: Arrays = tuple(w for w in weights if w is not None)
    for mode in modes:
        g, factors = times(g, factors, mode), directions
    return f(*xs), g(xs)

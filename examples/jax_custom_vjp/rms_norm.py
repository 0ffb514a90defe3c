"""Rows divided by their root mean square, then scaled: the reverse rule is written by hand, so that it saves
two arrays and no more.
"""

import jax
import jax.numpy as jnp

EPSILON = 1e-6


def _size(x):
    return jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + EPSILON)


@jax.custom_vjp
def rms_norm(x, scale):
    """`x` is [..., n], `scale` is [n]."""
    return x / _size(x) * scale


def _forward(x, scale):
    return rms_norm(x, scale), (x, scale)


def _backward(saved, cotangent):
    x, scale = saved
    size = _size(x)
    row = x / size
    scaled = cotangent * scale
    along = jnp.mean(scaled * row, axis=-1, keepdims=True)
    batch = tuple(range(x.ndim - 1))
    return (scaled - row * along) / size, jnp.sum(cotangent * row, axis=batch)


rms_norm.defvjp(_forward, _backward)

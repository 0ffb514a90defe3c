"""`rms_norm` with a mistake: the projection along the row is taken of the cotangent before it is scaled."""

import jax
import jax.numpy as jnp
from rms_norm import _size


@jax.custom_vjp
def rms_norm(x, scale):
    return x / _size(x) * scale


def _forward(x, scale):
    return rms_norm(x, scale), (x, scale)


def _backward(saved, cotangent):
    x, scale = saved
    size = _size(x)
    row = x / size
    along = jnp.mean(cotangent * row, axis=-1, keepdims=True)
    batch = tuple(range(x.ndim - 1))
    return (cotangent * scale - row * along) / size, jnp.sum(cotangent * row, axis=batch)


rms_norm.defvjp(_forward, _backward)

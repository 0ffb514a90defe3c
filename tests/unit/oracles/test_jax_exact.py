"""Primitives that run in NumPy give what JAX gives, to the last bit and with the same signs of zeros."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="the jax extra is not installed")

import jax.numpy as jnp  # noqa: E402 - after JAX is known to be there
from jax import lax  # noqa: E402

from gradfuzz.oracles.jax import answers, evaluate  # noqa: E402
from gradfuzz.oracles.jax.evaluate import block  # noqa: E402

assert answers, "it sets JAX to 64 bits"

X = np.array([1.5, -0.0, 0.0, -2.25])
M = np.array([[0.5, -0.0, 3.0], [-0.0, -0.0, -7.5]])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "stop_gradient": (lambda x: lax.stop_gradient_p.bind(x), (X,)),
    "select_n of bools": (lambda p, x, y: lax.select_n(p, x, y), (X > 0, X, -X)),
    "select_n of ints": (lambda p, x, y: lax.select_n(p, x, y), (np.int32([0, 1, 1, 0]), X, -X)),
    "select_n of one int": (lambda p, x, y: lax.select_n(p, x, y), (np.int32(1), X, -X)),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (3, 4, 2), (1,)), (X,)),
    "broadcast_in_dim of one": (lambda x: lax.broadcast_in_dim(x, (1, 4), (1,)), (X,)),
    "stack": (lambda x, y: jnp.stack([x, y], axis=1), (X, -X)),
    "unstack": (lambda x: jnp.unstack(x, axis=1), (M,)),
    "split": (lambda x: lax.split(x, (1, 2), axis=1), (M,)),
    "iota": (lambda: lax.broadcasted_iota(np.int32, (2, 3), 1), ()),
    "dot_general": (lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), (M, X)),
    "dot_general of float32": (
        lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))),
        (np.float32(0.1), np.float32([0.3, -0.0])),
    ),
    "reduce_sum of one": (lambda x: lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None), (M[:1],)),
    "reduce_sum of two": (lambda x: lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None), (M,)),
}


def bits(values: Any) -> list[tuple[Any, ...]]:
    arrays = [np.asarray(v) for v in jax.tree_util.tree_leaves(values)]
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays]


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_as_in_jax(name: str) -> None:
    f, values = CASES[name]
    assert bits(block(jax.make_jaxpr(f)(*values))(values)) == bits(jax.jit(f)(*values))


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, values = CASES[name]
    closed = jax.make_jaxpr(f)(*values)
    primitive = name.partition(" ")[0]
    assert primitive in {eqn.primitive.name for eqn in closed.eqns}

    def compiled(asked: Any, params: Any) -> Callable[..., Any]:
        assert asked.name != primitive
        return functools.partial(asked.bind, **dict(params))

    monkeypatch.setattr(evaluate, "_compiled", compiled)
    block(closed)(values)

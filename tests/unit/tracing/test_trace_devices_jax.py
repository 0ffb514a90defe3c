"""Functions of several devices as graphs: on meshes of devices that need not be there, since nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from gradfuzz.errors import UntraceableError
from gradfuzz.oracles.references.balls import derivative, value
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import evaluate
from gradfuzz.tracing.jax.trace import traced_graph

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

MESH = AbstractMesh((2, 3), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
X = np.linspace(-1.0, 1.5, 72).reshape(12, 6) ** 3
BLOCKS = X.reshape(2, 6, 3, 2).transpose(0, 2, 1, 3)
"""Block [i, j] is that of the device at (i, j) where the rows are divided by i, and the columns by j."""


TILES = P("i", "j")


def mapped(body: Function, takes: P = TILES, gives: P = TILES, typed: bool = True) -> Function:
    def f(x: Any) -> Any:
        x = jax.reshard(x, NamedSharding(MESH, takes))
        y = jax.shard_map(body, mesh=MESH, in_specs=takes, out_specs=gives, check_vma=typed)(x)
        return jax.reshard(y, NamedSharding(MESH, P()))

    return f


def of(f: Function, x: Array = X) -> Array:
    """What the graph of `f` gives."""
    (found,) = evaluate(traced_graph(f, [x]), [x], NumpyNamespace())
    return np.asarray(found)


def together(blocks: Array) -> Array:
    """The array of which these are the blocks."""
    a, b, m, n = blocks.shape
    return blocks.transpose(0, 2, 1, 3).reshape(a * m, b * n)


def looped(x: Array) -> Array:
    y = x
    for _ in range(3):
        y = y.sum(1, keepdims=True) * x
    return y


def scanned(x: Array) -> Array:
    """Each row times the sum of the rows before it and of the first one once more, added up over j."""
    before = np.concatenate([0 * x[:, :, :1], x[:, :, :-1]], axis=2).cumsum(2) + x[:, :, :1]
    return np.repeat((before * x).sum(1, keepdims=True), 3, axis=1)


CASES: dict[str, tuple[Function, Array]] = {
    "psum of an axis": (
        mapped(lambda x: lax.psum(x, "i") * x),
        together(BLOCKS.sum(0, keepdims=True) * BLOCKS),
    ),
    "psum of both": (mapped(lambda x: lax.psum(x, ("i", "j")), gives=P()), BLOCKS.sum((0, 1))),
    "psum without types": (
        mapped(lambda x: lax.psum(x, "j"), gives=P("i"), typed=False),
        BLOCKS.sum(1).reshape(12, 2),
    ),
    "all_gather": (
        mapped(lambda x: lax.all_gather(x, "j", axis=1, tiled=True)[:, :2] + x),
        together(BLOCKS[:, :1] + BLOCKS),
    ),
    "all_gather of both": (
        mapped(lambda x: lax.all_gather(x, ("j", "i"))[3] + x),
        together(BLOCKS[1, 1] + BLOCKS),
    ),
    "psum_scatter": (
        mapped(lambda x: lax.psum_scatter(x, "j", scatter_dimension=0, tiled=True), gives=P(("i", "j"))),
        BLOCKS.sum(1).reshape(12, 2),
    ),
    "all_to_all": (
        mapped(lambda x: lax.all_to_all(x, "j", 0, 1, tiled=True), gives=P(("i", "j"))),
        X,
    ),
    "ppermute": (
        mapped(lambda x: lax.ppermute(x, "j", [(0, 2), (2, 1)])),
        together(np.stack([0 * BLOCKS[:, 0], BLOCKS[:, 2], BLOCKS[:, 0]], axis=1)),
    ),
    "axis_index": (
        mapped(lambda x: x * lax.axis_index(("j", "i"))),
        together(BLOCKS * np.array([[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]])[..., None, None]),
    ),
    "within a call": (
        mapped(lambda x: jax.jit(lambda y: lax.psum(y * y, "j"))(x) * x),
        together((BLOCKS**2).sum(1, keepdims=True) * BLOCKS),
    ),
    "in a loop, with all devices at the same trip": (
        mapped(lambda x: lax.fori_loop(0, 3, lambda k, y: lax.psum(y, "j") * x, x)),
        together(looped(BLOCKS)),
    ),
    "rows of a loop": (
        mapped(lambda x: lax.scan(lambda c, row: (c + row, lax.psum(c * row, "j")), x[0], x)[1]),
        together(scanned(BLOCKS)),
    ),
    "rows by both axes": (
        mapped(lambda x: x[::-1], P(("j", "i")), P(("j", "i"))),
        X.reshape(6, 2, 6)[:, ::-1],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_devices_tell_each_other_what_they_have(name: str) -> None:
    f, expected = CASES[name]
    np.testing.assert_allclose(of(f), expected.reshape(of(f).shape), rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_rules_of_collectives_are_right(name: str, mode: str) -> None:
    f, expected = CASES[name]
    w, v = np.cos(np.arange(expected.size)), np.sin(1.0 + np.arange(X.size)).reshape(X.shape)

    def total(x: Any) -> Any:
        return (f(jnp.sin(x)).ravel() * w).sum()

    def slope(x: Any) -> Any:
        return (jax.grad(total)(x) * v).sum() if mode == "rev" else jax.jvp(total, (x,), (v,))[1]

    truth = derivative(traced_graph(total, [X]), [X], [[v]])
    assert truth.is_narrow
    assert value(traced_graph(slope, [X], derivative=True), [X]).meets(truth)


def test_a_collective_with_a_wrong_rule_is_seen() -> None:
    @jax.custom_vjp
    def doubled(x: Any) -> Any:
        return lax.psum(x, "i")

    def back(_: None, along: Any) -> Any:
        return (along,)  # and not its sum over the devices, each of which has one

    doubled.defvjp(lambda x: (doubled(x), None), back)
    f = mapped(lambda x: doubled(x) * x, P("i"), P("i"), typed=False)

    def total(x: Any) -> Any:
        return (f(x) * np.cos(X)).sum()

    rule = traced_graph(lambda x: jax.grad(total)(x).sum(), [X], derivative=True)
    truth = derivative(traced_graph(total, [X]), [X], [[np.ones_like(X)]])
    assert not value(rule, [X]).meets(truth)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda x: lax.cond(x.sum() > 0, lambda y: lax.psum(y, "i"), lambda y: y, x), "in a branch"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1]]) * x, "in groups"),
    ],
)
def test_what_devices_cannot_say(body: Function, words: str) -> None:
    with pytest.raises(UntraceableError, match=words):
        traced_graph(mapped(body, P("i"), P("i"), typed=False), [X])

"""A batch of no instances, which no question can ask about: a question's points are the instances. Gradients
have its shape and dtype all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine.api.derivative import derivative
from gradfuzz.engine.batching.batch import batch
from gradfuzz.engine.compiling.compile import compile
from gradfuzz.engine.modes.prune import prune
from gradfuzz.oracles.base import Mode
from gradfuzz.programs import parse

PROGRAMS = (
    "def f(x):\n    acc = 1.0\n    while acc < 3.0:\n        acc = acc * x\n    return acc\n",
    "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n",
    "def f(x):\n    acc = x\n    if x > 0.0:\n        acc = sin(x)\n    return acc\n",
    'def f(x: "float[2, 2]", y: "float[2]"):\n    return solve(x, y)\n',
    'def f(x: "float[3, 2]"):\n    q, r = qr(x)\n    return q * q\n',
    'def f(x: "float[2, 2]"):\n    w, v = eigh(x)\n    return w, v * v\n',
    'def f(x: "float[3, 2]"):\n    return pinv(x)\n',
    'def f(x: "float[3]"):\n    return cumulative_prod(x)\n',
)
MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",), ("rev", "fwd"), ("fwd", "rev"))


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("text", PROGRAMS)
def test_the_graph_of_a_derivative_for_no_instances(
    text: str, modes: tuple[Mode, ...], precision: Any
) -> None:
    program = parse(text)
    names = tuple(p.name for p in program.params)
    graph = derivative(program, wrt=names, modes=modes)
    own = [v.type.sizes for v in graph.inputs]
    batched, _ = batch(graph, [k < len(names) for k in range(len(own))], 0)
    inputs = [np.zeros((0, *s) if k < len(names) else s, precision) for k, s in enumerate(own)]
    gradient = compile(prune(batched), precision=precision)(*inputs)[-len(names) :]
    for g, sizes in zip(gradient, own, strict=False):
        assert np.shape(g) == (0, *sizes)
        assert np.asarray(g).dtype == precision


def while_loop(x: Any) -> Any:
    return engine.while_loop(lambda s: s < 3.0, lambda s: s * x, 1.0 + 0.0 * x)


FUNCTIONS: tuple[tuple[Callable[[Any], Any], tuple[int, ...]], ...] = (
    (lambda x: engine.sin(x) * x, ()),
    (while_loop, ()),
    (lambda x: engine.linalg.det(x), (2, 2)),
    (lambda x: engine.sum(engine.linalg.svdvals(x)), (3, 2)),
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "sizes"), FUNCTIONS)
def test_vmap_and_vectorize_of_no_instances(
    f: Callable[[Any], Any], sizes: tuple[int, ...], dtype: Any
) -> None:
    none = np.zeros((0, *sizes), dtype)
    for g in (
        engine.vmap(engine.grad(f))(none),
        engine.grad(lambda x: engine.sum(engine.vmap(f)(x)))(none),
        engine.devectorize(engine.grad(f)(engine.vectorize(none, "instance"))),
    ):
        assert np.shape(g) == none.shape
        assert np.asarray(g).dtype == dtype


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("f", [lambda x: x, engine.sum, lambda x: 1.0], ids=["identity", "sum", "constant"])
def test_the_jacobian_of_no_entries_has_the_dtype_of_its_argument(mode: Any, f: Any) -> None:
    x = np.zeros((0, 2), np.float32)
    found = np.asarray(engine.jacobian(f, mode=mode)(x))
    assert found.dtype == np.float32
    assert found.shape == (*np.shape(f(x)), 0, 2)

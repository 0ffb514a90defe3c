"""`engine.scan`: derivatives against mpmath, and the structure that keeps it linear in the number
of trips.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine import derivative
from gradfuzz.engine.api.tracing import trace_function
from gradfuzz.engine.modes.prune import prune
from gradfuzz.programs import to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import evaluate
from gradfuzz.programs.graphs.graph import Equation, Graph, Loop
from gradfuzz.programs.language.types import Type


def copied(graph: Graph) -> list[str]:
    """The ops that copy an array in the body of a loop."""
    bodies = [n.body for n in graph.walk() if isinstance(n, Loop)]
    return [n.op for b in bodies for n in b.walk() if isinstance(n, Equation) and n.output.type.rank > 0]


def running(v: Any) -> Any:
    carry, ys = engine.scan(lambda c, x: (engine.sin(c * x), c * x * x), 0.3, v)
    return carry + engine.sum(ys * ys)


@pytest.mark.parametrize(
    "modes", [(), ("rev",), ("fwd", "rev"), ("rev", "rev"), ("fwd", "fwd", "rev")], ids="-".join
)
def test_a_scan_copies_no_array_in_any_trip(modes: tuple[Any, ...]) -> None:
    """Neither the xs nor the ys nor a cotangent of either, of any order: each trip reads a row and writes
    one.
    """
    graph = trace_function(running, [Type("float", (5,))], ["v"]).graph
    graph = derivative(graph, wrt=["v"], modes=modes) if modes else graph
    assert [n for n in graph.walk() if isinstance(n, Loop)]
    assert copied(prune(graph)) == []
    v, rest = np.linspace(0.2, 0.9, 5), [np.ones(t.type.sizes) for t in graph.inputs[1:]]
    compiled, interpreted = engine.compile(graph)(v, *rest), evaluate(graph, [v, *rest], NumpyNamespace())
    assert all(np.array_equal(a, b) for a, b in zip(compiled, interpreted, strict=True))


def test_derivatives_of_a_scan(seed: int) -> None:
    """Against central differences in 40 digits of the recurrence itself."""
    points = np.random.default_rng(seed).uniform(0.2, 1.2, 4)

    def by_mpmath(*v: Any) -> Any:
        carry, total = mpmath.mpf(0.3), mpmath.mpf(0)
        for x in v:
            carry, total = mpmath.sin(carry * x), total + (carry * x * x) ** 2
        return carry + total

    with mpmath.workdps(40):
        v = [mpmath.mpf(float(x)) for x in points]
        unit = [tuple(int(j == k) for j in range(4)) for k in range(4)]
        slopes = [float(mpmath.diff(by_mpmath, v, u)) for u in unit]
        curves = [
            [float(mpmath.diff(by_mpmath, v, tuple(a + b for a, b in zip(r, s, strict=True)))) for s in unit]
            for r in unit
        ]
    assert np.allclose(engine.grad(running)(points), slopes, rtol=1e-13, atol=0)
    assert np.allclose(engine.hessian(running)(points), curves, rtol=1e-12, atol=1e-13)
    assert np.allclose(engine.jvp(running, (points,), (np.eye(4)[2],))[1], slopes[2], rtol=1e-13, atol=0)
    for checkpoint in ("sqrt", 2):
        assert np.array_equal(
            engine.grad(running, checkpoint=checkpoint)(points), engine.grad(running)(points)
        )
    rows = np.stack([points, points + 0.1])
    assert np.array_equal(engine.vmap(engine.grad(running))(rows)[1], engine.grad(running)(rows[1]))
    assert to_text(engine.trace(running, points)).count("for ") == 1, "a program can say it"


def test_a_scan_of_constants_and_of_matrices() -> None:
    """Rows that are matrices, xs that nobody differentiates, a vectorized carry, int rows."""
    xs = np.arange(12.0).reshape(3, 2, 2) / 8

    def f(x: Any) -> Any:
        carry, ys = engine.scan(lambda c, m: (m @ c, c * 2.0), x, xs)
        return engine.sum(carry) + engine.sum(ys[2])

    x = np.array([1.0, -0.5])
    expected = np.ones(2) @ (xs[2] @ xs[1] @ xs[0] + 2.0 * xs[1] @ xs[0])
    assert np.allclose(engine.grad(f)(x), expected, rtol=1e-14, atol=0)
    assert np.allclose(engine.vmap(engine.grad(f))(np.stack([x, 2 * x])), [expected] * 2, rtol=1e-14, atol=0)
    assert (
        engine.grad(lambda x: engine.sum(engine.scan(lambda c, n: (c * x, c * n), 1.0, np.array([3, 5]))[1]))(
            2.0
        )
        == 5.0
    )

"""Graphs in balls: what is exact, what is not known, and what is not defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from gradfuzz.errors import EvaluationError
from gradfuzz.oracles.references.balls import derivative, rounding, value
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.tracing.jax.trace import traced_graph

X = np.array([0.5, -0.75, 1.25])


def graph(f: Callable[..., Any], *arrays: Any) -> Graph:
    return traced_graph(f, arrays, derivative=True)


def test_a_value_has_thirty_digits() -> None:
    found = value(graph(lambda x: jnp.sum(jnp.exp(x)), X), [X])
    with mpmath.workdps(40):
        assert found.text() == mpmath.nstr(mpmath.fsum(mpmath.exp(v) for v in X.tolist()), 30)
    assert found.is_narrow


def test_mixed_derivatives_are_those_of_mpmath() -> None:
    lines = [[np.array([1.0, 0.5, -0.25])], [np.array([0.5, 2.0, 0.125])]]
    found = derivative(graph(lambda x: jnp.sum(jnp.sin(x) * jnp.exp(x[::-1])), X), [X], lines)
    (first,), (second,) = lines

    def along(s: Any, t: Any) -> Any:
        moved = [x + s * u + t * v for x, u, v in zip(X.tolist(), first, second, strict=True)]
        pairs = zip(moved, moved[::-1], strict=True)
        return mpmath.fsum(mpmath.sin(a) * mpmath.exp(b) for a, b in pairs)

    with mpmath.workdps(60):
        assert found.text(20) == mpmath.nstr(mpmath.diff(along, (0, 0), (1, 1)), 20)


def test_a_constant_may_stand_for_what_rounds_to_it() -> None:
    third = graph(lambda x: x * (1.0 / 3.0), np.array(3.0))
    exact, loose = value(third, [np.array(3.0)]), value(third, [np.array(3.0)], rounded="float64")
    assert not exact.meets(value(graph(lambda x: x, np.array(1.0)), [np.array(1.0)]))
    assert loose.ball.contains(1)
    half = graph(lambda x: x * 0.5, np.array(3.0))
    assert value(half, [np.array(3.0)], rounded="float64").ball == 1.5


def test_rounding_sees_cancellation() -> None:
    x = np.array(1e8)
    lost = rounding(graph(lambda x: (x + 1.0) * (x + 1.0) - x * x, x), [x], "float64")
    assert lost > 1e-16 * 1e16


def test_what_is_not_defined_spoils_only_what_it_goes_into() -> None:
    chosen = graph(lambda x: jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0)), X)
    with mpmath.workdps(40):
        wanted = mpmath.nstr(mpmath.log(0.5) + mpmath.log(1.25), 30)
    assert value(chosen, [X]).text() == wanted
    with pytest.raises(EvaluationError, match="log of"):
        value(graph(lambda x: jnp.sum(jnp.log(x)), X), [X])


def test_a_sum_of_logarithms_may_begin_at_minus_infinity() -> None:
    f = graph(lambda x: jnp.exp(jnp.log(x - 0.5)) + 1.0, np.array(0.5))
    assert value(f, [np.array(0.5)]).ball == 1

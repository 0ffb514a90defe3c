"""A root of lax.custom_root that is found to its last digits has the derivative of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import measure_gradient

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

POINT = np.array([0.7, 1.9])


def _root(steps: int, factor: float) -> Any:
    """The root of tanh(x) + x = a by bisection, whose tangents are too large by a factor."""

    def f(a: Any) -> Any:
        def solve(g: Any, start: Any) -> Any:
            def halved(_: int, sides: Any) -> Any:
                low, high = sides
                middle = (low + high) / 2
                is_above = g(middle) > 0
                return jnp.where(is_above, low, middle), jnp.where(is_above, middle, high)

            return sum(lax.fori_loop(0, steps, halved, (start - 10, start + 10))) / 2

        def tangent(g: Any, y: Any) -> Any:
            return factor * y / g(jnp.ones_like(y))

        return lax.custom_root(lambda x: jnp.tanh(x) + x - a, jnp.zeros_like(a), solve, tangent) ** 2

    return f


@pytest.mark.parametrize(
    ("steps", "factor", "verdict"),
    [
        (60, 1.0, Verdict.AGREE),
        (60, 1.001, Verdict.DISAGREE),
        (60, -1.0, Verdict.DISAGREE),
        (20, -1.0, Verdict.INCONCLUSIVE),  # five digits of a root are no root
    ],
)
def test_a_root_is_judged_where_it_is_one(steps: int, factor: float, verdict: Verdict) -> None:
    plain = lax.custom_root
    found = measure_gradient(jax.jit(_root(steps, factor)), POINT, modes="rev")
    assert found.verdict is verdict, found.reason
    assert "custom_root" in found.untraced
    assert lax.custom_root is plain

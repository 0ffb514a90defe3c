"""Masks of the lowest numbers of a dtype are judged, and so is a rule in three digits along directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.testing import GradientMismatch, check_gradient

jax = pytest.importorskip("jax")

ALLOWED = np.tri(4, dtype=bool)


def _masked(x: Any, w: Any) -> Any:
    scores = jax.numpy.where(ALLOWED, x, jax.numpy.finfo(x.dtype).min)
    return jax.nn.softmax(scores, -1) @ w


def _with(factor: float) -> Any:
    """The function by a rule that returns `factor` times the right gradient."""
    rule = jax.custom_vjp(_masked)
    rule.defvjp(
        lambda *xs: (_masked(*xs), xs),
        lambda xs, g: tuple((y * factor).astype(y.dtype) for y in jax.vjp(_masked, *xs)[1](g)),
    )
    return rule


def _arguments(dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((4, 4)).astype(dtype) for _ in range(2))


def test_a_mask_of_the_lowest_number_hides_no_entry() -> None:
    check_gradient(_masked, *_arguments("float64"), strict=True)


def test_a_wrong_factor_beside_such_a_mask_is_found() -> None:
    with pytest.raises(GradientMismatch, match="wrong_value"):
        check_gradient(_with(1.001), *_arguments("float64"))


def test_a_rule_in_half_precision_is_asked_in_float64_too() -> None:
    check_gradient(_with(1.0), *_arguments("float16"), strict=True)
    with pytest.raises(GradientMismatch, match="wrong_value"):
        check_gradient(_with(1.05), *_arguments("float16"))


def _paths(steps: Any, rule: Any) -> Any:
    """The logarithm of the sum over paths that go up by at most one state in each step, as in CTC."""
    lowest = jax.numpy.full(3, -1e30)

    def step(state: Any, row: Any) -> Any:
        moved = jax.numpy.concatenate([lowest[:1], state[:-1]])
        return rule(jax.numpy.stack([state, moved]), row), None

    return jax.lax.scan(step, lowest.at[0].set(steps[0, 0]), steps[1:])[0][2]


def _sum(states: Any, row: Any) -> Any:
    return jax.nn.logsumexp(states, 0) + row


def test_states_that_are_not_reached_hide_no_entry_of_a_scan() -> None:
    steps = np.random.default_rng(1).standard_normal((3, 3))
    check_gradient(lambda x: _paths(x, _sum), steps, modes="rev", strict=True)
    wrong = jax.custom_vjp(_sum)
    wrong.defvjp(
        lambda *xs: (_sum(*xs), xs), lambda xs, g: tuple(1.001 * y for y in jax.vjp(_sum, *xs)[1](g))
    )
    with pytest.raises(GradientMismatch, match="wrong_value"):
        check_gradient(lambda x: _paths(x, wrong), steps, modes="rev")

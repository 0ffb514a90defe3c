"""Masks of the lowest number of a dtype are judged, and so is a rule in three digits along directions."""

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

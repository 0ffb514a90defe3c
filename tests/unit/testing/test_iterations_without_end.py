"""A fixed point by `while_loop` that is found at the arguments, and at others never."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.testing import GradientMismatch, check_gradient

jax = pytest.importorskip("jax")


def _body(a: Any, x: Any) -> Any:
    return jax.numpy.cos(a * x) / 2 + a / 10


def _found(a: Any) -> Any:
    """At a = 3.1 the iteration takes two values in turn."""

    def is_apart(pair: Any) -> Any:
        return jax.numpy.max(abs(pair[0] - pair[1])) > 1e-15

    start = _body(a, 0.0 * a), 0.0 * a
    return jax.lax.while_loop(is_apart, lambda pair: (_body(a, pair[0]), pair[0]), start)[0]


def _with(factor: float) -> Any:
    """The fixed point by its implicit derivative, times a factor."""
    rule = jax.custom_vjp(_found)

    def back(saved: Any, g: Any) -> Any:
        a, x = saved
        by_a, by_x = (jax.grad(lambda *xs: jax.numpy.sum(_body(*xs)), k)(a, x) for k in (0, 1))
        return (factor * g * by_a / (1 - by_x),)

    rule.defvjp(lambda a: (_found(a), (a, _found(a))), back)
    return lambda a: rule(a) ** 2


POINT = np.array([0.3, 1.571, 1.2, 1.426])


def test_a_right_rule_is_judged_though_the_iteration_ends_at_few_arguments() -> None:
    check_gradient(_with(1.0), POINT, accuracy=1e-10, strict=True)


def test_a_wrong_one_is_found() -> None:
    with pytest.raises(GradientMismatch, match="wrong_value"):
        check_gradient(_with(1.001), POINT, accuracy=1e-10)

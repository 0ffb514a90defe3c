"""Functions of JAX in which Python decides by numbers: `jax.grad` has them, and a trace has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import UntraceableError
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import measure_gradient

jax = pytest.importorskip("jax")
jnp = jax.numpy
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def _times(share: float) -> Callable[..., Any]:
    """x * y, whose derivative by y is `share` of what is right."""
    times = jax.custom_vjp(lambda x, y: x * y)
    times.defvjp(lambda x, y: (x * y, (x, y)), lambda xy, g: (g * xy[1], share * g * xy[0]))
    return times


def geometric(x: Any, times: Callable[..., Any]) -> Any:
    """At 0.5 the number of terms changes 2.4e-3 of x away."""
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    while jnp.abs(power) > 1e-3:
        total, power = total + power, times(power, x)
    return total


def squared(x: Any, times: Callable[..., Any]) -> Any:
    y = x
    for _ in range(9):
        if y.sum() > 30.0:
            break
        y = times(y, y + 0.5)
    return y


def split(x: Any, times: Callable[..., Any]) -> Any:
    """Unlike sides, of which one holds the mistake."""
    return jnp.exp(x) if x[0] < 0 else times(x, x)


@DTYPES
@pytest.mark.parametrize(("f", "x"), [(geometric, 0.5), (squared, [1.3, 0.4]), (split, [1.5, -0.5])])
@pytest.mark.parametrize("share", [1.0, 1.0 + 1e-3, 0.5, -1.0])
def test_a_loop_by_bools_is_traced(f: Any, x: Any, share: float, dtype: Any) -> None:
    times = _times(share)
    with jax.enable_x64(dtype is np.float64):
        found = measure_gradient(lambda x: f(x, times), jnp.asarray(x, dtype), modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason
    assert found.method == "traced"


def by_number(x: Any, times: Callable[..., Any]) -> Any:
    """Newton's square root, which stops by its residual."""
    y = x
    while float(jax.lax.stop_gradient(jnp.max(jnp.abs(y * y - x)))) > 1e-2:
        y = y - (y * y - x) / (2.0 * y)
    return times(y, x)


def by_index(x: Any, times: Callable[..., Any]) -> Any:
    return times(jnp.sum(x), x[int(jnp.argmax(x))])


@pytest.mark.parametrize("f", [by_number, by_index])
@pytest.mark.parametrize("share", [1.0, 1.0 + 1e-6, 0.5])
def test_a_loop_by_numbers_is_traced_in_float64(f: Any, share: float) -> None:
    times = _times(share)
    with jax.enable_x64(True):
        found = measure_gradient(lambda x: f(x, times), jnp.asarray([3.0, 2.0]), modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason
    assert found.method == "traced"


def test_a_number_that_goes_into_the_result_is_no_constant() -> None:
    """JAX does not see it; its gradient is not the derivative of what is computed."""
    with jax.enable_x64(True):
        x = jnp.asarray([0.7, 1.9])
        found = measure_gradient(lambda x: x * float(jax.lax.stop_gradient(x[0])), x, modes="rev")
    assert found.verdict is Verdict.DISAGREE
    assert "a number of the arguments" in found.untraced


def _slope(x: Any) -> Any:
    """The derivative of the nine terms that `geometric` adds at 0.5, and of as many at numbers nearby."""
    return sum(k * x ** (k - 1) for k in range(1, 10))


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, Verdict.AGREE),
        (2.0, Verdict.DISAGREE),
        (-1.0, Verdict.DISAGREE),
        (1.0 + 1e-3, Verdict.INCONCLUSIVE),
    ],
)
def test_a_rule_whose_function_decides(share: float, expected: Verdict) -> None:
    """It may be that of the limit, whose slope, 4, is 1 % away from that of the terms that are added."""
    ruled = jax.custom_vjp(lambda x: geometric(x, jnp.multiply))
    ruled.defvjp(lambda x: (geometric(x, jnp.multiply), x), lambda x, g: (share * g * _slope(x),))
    with jax.enable_x64(True):
        found = measure_gradient(ruled, jnp.asarray(0.5), modes="rev")
    assert found.verdict is expected, found.reason


def root(x: Any) -> Any:
    y = jnp.ones_like(x)
    while jnp.abs(y * y - x) > 1e-7:
        y = y - (y * y - x) / 3.0
    return y


@pytest.mark.parametrize("share", [1.0, 1.0 + 1e-4, 2.0, -1.0])
def test_a_rule_may_be_that_of_what_the_steps_approach(share: float) -> None:
    """The steps are off by 1e-7 of the root, and so is their derivative."""
    ruled = jax.custom_vjp(root)
    ruled.defvjp(lambda x: (root(x),) * 2, lambda y, g: (share * g / (2.0 * y),))
    with jax.enable_x64(True):
        found = measure_gradient(ruled, jnp.asarray(1.7), modes="rev")
    assert (found.verdict is Verdict.DISAGREE) is (share != 1.0), found.reason


def test_at_a_jump_nothing_is_called_right() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 if x > 1.0 else x

    with jax.enable_x64(True):
        at_jump, beside = (measure_gradient(f, jnp.asarray(x)) for x in (1.0, 1.001))
    assert at_jump.verdict is not Verdict.AGREE
    assert beside.verdict is Verdict.AGREE


def test_what_python_may_not_ask_of_jax_is_not_traced() -> None:
    from gradfuzz.tracing.jax.trace import traced

    def endless(x: Any) -> Any:
        while x < 1e9:
            x = x + 1.0
        return x

    before = [getattr(jax.core.Tracer, name) for name in ("__bool__", "__int__", "__index__", "__float__")]
    with pytest.raises(UntraceableError, match="more than 256 numbers"):
        traced(endless, [np.float64(1.0)])
    after = [getattr(jax.core.Tracer, name) for name in ("__bool__", "__int__", "__index__", "__float__")]
    assert after == before

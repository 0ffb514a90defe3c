"""What JAX or Torch would run, without rounding: it decides where numbers alone do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradfuzz import GradientMismatch, check_gradient
from gradfuzz.fuzzer.measuring.measure import Inquiry
from gradfuzz.fuzzer.measuring.measured import InconclusiveWarning
from gradfuzz.fuzzer.measuring.own_rule import own_rule
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.fuzzer.verdict.truth import Truths
from gradfuzz.testing import measure_gradient
from tests.releases import skip_where_right

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jnp = jax.numpy

TAILS: list[tuple[Callable[[Any], Any], float, float]] = [
    (jnp.expm1, -20.0, math.exp(-20.0)),
    (torch.sigmoid, 25.0, math.exp(-25.0) / (1.0 + math.exp(-25.0)) ** 2),
    (jax.nn.sigmoid, 25.0, math.exp(-25.0) / (1.0 + math.exp(-25.0)) ** 2),
]
"""The derivatives by hand. JAX 0.10 has y + 1 for the exponential minus 1, both y (1 - y) for the sigmoid."""


def skip_expm1(f: Callable[[Any], Any]) -> None:
    if f is jnp.expm1:
        skip_where_right("jax", "0.12")


def given(f: Callable[[Any], Any], x: object, dtype: str) -> Any:
    array = np.asarray(x, dtype)
    return torch.tensor(array) if f.__module__.startswith("torch") or f is torch.sigmoid else array


@pytest.mark.parametrize(("f", "x", "slope"), TAILS)
def test_half_of_the_digits_are_lost_in_a_tail(f: Callable[[Any], Any], x: float, slope: float) -> None:
    skip_expm1(f)
    found = measure_gradient(f, given(f, x, "float64"))
    assert found.kind is Class.PRECISION
    assert found.worst_expected == pytest.approx(slope, rel=1e-12, abs=0.0)
    assert found.worst_got != pytest.approx(slope, rel=1e-8, abs=0.0)


@pytest.mark.parametrize(("f", "x", "slope"), TAILS)
def test_less_is_lost_before_the_tail(f: Callable[[Any], Any], x: float, slope: float) -> None:
    check_gradient(f, given(f, 0.5 * x, "float64"))


@pytest.mark.parametrize(("f", "x", "slope"), TAILS)
def test_a_tail_of_float32_is_not_silently_right(f: Callable[[Any], Any], x: float, slope: float) -> None:
    skip_expm1(f)
    with pytest.warns(InconclusiveWarning):
        check_gradient(f, given(f, x, "float32"))


def focal_of_jax(x: Any) -> Any:
    p = jax.nn.sigmoid(x)
    return jnp.sum(-jax.nn.log_sigmoid(x) * (1.0 - p) ** 0.5)


def focal_of_torch(x: Any) -> Any:
    p = torch.sigmoid(x)
    return (-torch.nn.functional.logsigmoid(x) * (1.0 - p) ** 0.5).sum()


def with_two_labels(x: Any) -> Any:
    """Its value is NaN, too: 0 times the logarithm of 0."""
    p = torch.sigmoid(x)
    y = torch.ones_like(x)
    return -(y * (1.0 - p) ** 2 * torch.log(p) + (1.0 - y) * p**2 * torch.log(1.0 - p)).sum()


@pytest.mark.parametrize("f", [focal_of_jax, focal_of_torch, with_two_labels])
def test_nan_in_float32_is_wrong_where_value_and_derivative_are_numbers(f: Callable[[Any], Any]) -> None:
    """From 17.4 on a sigmoid is 1 in float32."""
    x = np.array([17.5, 0.5], "float32")
    at = torch.tensor(x) if f is not focal_of_jax else x
    found = measure_gradient(f, at)
    assert (found.verdict, found.kind) == (Verdict.DISAGREE, Class.NON_FINITE)
    assert measure_gradient(f, at[1:]).verdict is Verdict.AGREE


def test_a_wrong_rule_is_seen_where_rounding_is_larger_than_the_derivative() -> None:
    """The two terms cancel: the true derivative is 1, and float32 rounds each to a multiple of 1/16."""

    @jax.custom_jvp
    def almost_sin(x: Any) -> Any:
        return jnp.sin(x)

    @almost_sin.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return jnp.sin(primals[0]), (1.0 + 1e-6) * jnp.cos(primals[0]) * tangents[0]

    def with_rule(sin: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: x + 1e6 * sin(x) - 1e6 * jnp.sin(x)

    x = np.float32(0.3)
    assert measure_gradient(with_rule(almost_sin), x).verdict is Verdict.DISAGREE
    assert measure_gradient(with_rule(jnp.sin), x).verdict is not Verdict.DISAGREE


def test_a_constant_of_the_library_that_is_rounded_makes_no_rule_wrong() -> None:
    """The rule of log_ndtr adds x^2 / 2 to a value that has x^2 / 2 by way of a rounded 1 / sqrt(2): at -30
    that is 7e-14 of the derivative.
    """
    x = torch.tensor([-30.0, -2.0, 0.5], dtype=torch.float64)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.special.log_ndtr(x)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            (x,) = ctx.saved_tensors
            rule = torch.exp(-torch.special.log_ndtr(x) - x * x / 2) / math.sqrt(2.0 * math.pi)
            return cotangent * rule * (1.0 + 1e-10)

    check_gradient(torch.special.log_ndtr, x, strict=True)
    assert measure_gradient(Wrong.apply, x, modes="rev").verdict is Verdict.DISAGREE


def test_a_small_network_of_float32_and_bfloat16_is_right_and_a_wrong_one_is_not() -> None:
    rng = np.random.default_rng(3)
    first, second = (torch.tensor(rng.normal(size=n)) for n in ((8, 4), (1, 8)))
    x = torch.tensor(rng.normal(size=(4, 1)))

    def network(w: Any, *, detached: bool = False) -> Any:
        hidden = torch.tanh(w @ x.to(w.dtype))
        hidden = hidden + (hidden.detach() - hidden) / 2 if detached else hidden
        return torch.sigmoid(second.to(w.dtype) @ hidden).sum()

    for dtype in (torch.float32, torch.bfloat16):
        check_gradient(network, first.to(dtype), strict=True)
        with pytest.raises(GradientMismatch):
            check_gradient(lambda w: network(w, detached=True), first.to(dtype))


@pytest.mark.parametrize("kit", ["jax", "torch"])
def test_an_entry_beyond_the_range_hides_no_other(kit: str) -> None:
    """The derivative of 1/x at 1e-200 is -1e400."""
    x = np.array([1e-200, 2.0, 3.0])
    right = measure_gradient(
        lambda x: (1.0 / x).sum(), torch.tensor(x) if kit == "torch" else x, modes="rev", framework=kit
    )
    assert right.verdict is Verdict.AGREE
    assert right.judged == (2, 3)

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return 1.0 / x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return -0.5 * g / x**2

    wrong = measure_gradient(lambda x: Half.apply(x).sum(), torch.tensor(x), modes="rev")
    assert (wrong.verdict, wrong.ratio) == (Verdict.DISAGREE, 0.5)


@pytest.mark.parametrize("x", [2.0, 0.3])
def test_constants_that_a_trace_of_bfloat16_rounds_are_no_fault_in_float64(x: float) -> None:
    """JAX has the logarithm of 2 in the dtype of its argument."""
    at = jnp.array(x, jnp.bfloat16)
    assert measure_gradient(lambda x: jnp.logaddexp2(jnp.array(0), x), at).verdict is Verdict.AGREE

    @jax.custom_jvp
    def half(x: Any) -> Any:
        return jnp.logaddexp2(jnp.array(0), x)

    @half.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        value, slope = jax.jvp(lambda x: jnp.logaddexp2(jnp.array(0), x), primals, tangents)
        return value, slope / 2

    assert measure_gradient(half, at).verdict is Verdict.DISAGREE


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_one_trace_says_what_forward_mode_runs_for_each_entry(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """As a trace of all entries does, also of a rule that is wrong at one of them."""

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx: Any, u: Any, v: Any) -> Any:
            x, y = ctx.saved_tensors
            return u * y * torch.tensor([[1.0, factor], [1.0, 1.0]], dtype=x.dtype) + x * v

    args = [torch.tensor([[0.5, -1.5], [2.0, 0.25]], dtype=torch.float64), torch.tensor([3.0, 0.75]).double()]
    subject = subject_of(lambda x, y: torch.tanh(Times.apply(x, y)).sum(0), args, None, None, None)
    inquiry = Inquiry(subject)
    assert inquiry.program is not None
    question = inquiry._question(inquiry.program, ("fwd",), 1.0)
    rules = []
    for pushes in (True, False):
        monkeypatch.setattr(type(subject.framework), "pushes", pushes)
        rules.append(own_rule(subject, question))
    one, other = rules
    assert one is not None
    assert other is not None
    (value,) = Truths().quick(question)
    for k, name in enumerate(question.wrt):
        np.testing.assert_allclose(one.gradient[name], other.gradient[name], rtol=1e-15)
        np.testing.assert_allclose(one.noise[name], other.noise[name], rtol=0.5)
        right = np.full(np.shape(one.gradient[name]), 1.0)
        if k == 0:
            right[0, 1] = factor
        np.testing.assert_allclose(one.gradient[name] / value.truth.gradient[name], right, rtol=1e-14)


def test_a_gradient_by_hand_is_not_the_rule_of_the_library() -> None:
    x = np.float32(25.0)
    with pytest.raises(GradientMismatch):
        check_gradient(jax.nn.sigmoid, x, grad=lambda x: x.dtype.type(0.0), framework="jax")
    check_gradient(jax.nn.sigmoid, x, grad=lambda x: x.dtype.type(math.exp(-25.0)), framework="jax")


def test_an_entry_that_underflows_beside_nan_does_not_decide() -> None:
    """The derivatives of exp(-x - exp(-x)) at -516 and 391 are 0 and 1e-170, so 0 in float32."""
    pytest.importorskip("jax")
    from jax.scipy.stats import gumbel_r

    found = measure_gradient(gumbel_r.pdf, np.array([1.0, -516.0, 391.0], "float32"), framework="jax")
    assert found.verdict is Verdict.DISAGREE
    assert found.worst is not None
    assert found.worst[1] == (1,)
    assert np.isnan(found.worst_got)

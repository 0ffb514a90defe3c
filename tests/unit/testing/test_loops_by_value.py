"""Functions in which Python decides by numbers: their program holds next to the arguments."""

from __future__ import annotations

from typing import Any

import pytest

from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import measure_gradient

torch = pytest.importorskip("torch")


class _Times(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """x * y, whose derivative by y is `share` of what is right."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, share: float) -> Any:
        ctx.save_for_backward(x, y)
        ctx.share = share
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y, ctx.share * g * x, None


def geometric(x: Any, share: float) -> Any:
    """At 0.5 the number of terms changes 2.4e-3 of x away."""
    total, power = torch.zeros_like(x), torch.ones_like(x)
    while power.abs().item() > 1e-3:
        total, power = total + power, _Times.apply(power, x, share)
    return total


def by_bool(x: Any, share: float) -> Any:
    """The same, which Python decides by a bool."""
    total, power = torch.zeros_like(x), torch.ones_like(x)
    while power.abs() > 1e-3:
        total, power = total + power, _Times.apply(power, x, share)
    return total


def by_item(x: Any, share: float) -> Any:
    total = x
    for k in range(1, 50):
        total = _Times.apply(total, x, share) / k
        if total.item() < 0.01:
            break
    return total


def by_float(x: Any, share: float) -> Any:
    """Newton's square root, which stops by its residual."""
    y = x
    while float(abs(y * y - x).detach()) > 1e-2:
        y = y - (y * y - x) / (2.0 * y)
    return _Times.apply(y, x, share)


def by_list(x: Any, share: float) -> Any:
    return sum(
        v * v if number > 0.0 else _Times.apply(v, v, share) for v, number in zip(x, x.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *((geometric, [0.5]), (by_bool, [0.5]), (by_item, [1.3]), (by_float, [3.0])),
        (by_list, [0.4, -1.3, 0.9]),
    ],
)
@pytest.mark.parametrize("share", [1.0, 1.0 + 1e-6, 0.5, -1.0])
def test_a_loop_by_value_is_traced(f: Any, x: list[float], share: float) -> None:
    found = measure_gradient(lambda x: f(x, share), torch.tensor(x, dtype=torch.float64), modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason
    assert found.method == "traced"


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_the_second_derivative_of_a_loop_by_value(share: float) -> None:
    x = torch.tensor([1.3], dtype=torch.float64)
    found = measure_gradient(lambda x: by_item(x, share), x, order=2, modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason


def normalized(x: Any) -> Any:
    """Along x it does not change, so that moving x by a factor tells nothing."""
    return x[0] * (x[1] / x.sum()).item()


@pytest.mark.parametrize("f", [lambda x: x * x[0].item(), lambda x: (x * x.tolist()[0]).sum(), normalized])
def test_a_number_that_goes_into_the_result_is_no_constant(f: Any) -> None:
    """Autograd does not see it; its gradient is not the derivative of what is computed."""
    found = measure_gradient(f, torch.tensor([0.7, 1.9], dtype=torch.float64), modes="rev")
    assert found.verdict is Verdict.DISAGREE
    assert found.untraced


class _Unseen(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """A loop that autograd does not see, and `share` of a derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, loop: Any, slope: Any, share: float) -> Any:
        y = loop(x)
        ctx.save_for_backward(x, y)
        ctx.slope, ctx.share = slope, share
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.share * ctx.slope(*ctx.saved_tensors), None, None, None


def _root(x: Any) -> Any:
    """The square root, by a loop that stops by its residual."""
    y = torch.ones_like(x)
    while abs(y * y - x).item() > 1e-7:
        y = y - (y * y - x) / 3.0
    return y


def _root_by_bool(x: Any) -> Any:
    y = torch.ones_like(x)
    while abs(y * y - x) > 1e-7:
        y = y - (y * y - x) / 3.0
    return y


def _sum(x: Any) -> Any:
    return geometric(x, 1.0)


def _slope_of_sum(x: Any, _: Any) -> Any:
    return sum(k * x ** (k - 1) for k in range(1, 10))


@pytest.mark.parametrize("root", [_root, _root_by_bool])
@pytest.mark.parametrize("share", [1.0, 1.0 + 1e-4, 2.0, -1.0])
def test_a_rule_may_be_that_of_what_the_steps_approach(share: float, root: Any) -> None:
    """The steps are off by 1e-7 of the root, and so is their derivative."""
    x = torch.tensor([1.7], dtype=torch.float64)
    slope = lambda _, y: 1.0 / (2.0 * y)  # noqa: E731
    found = measure_gradient(lambda x: _Unseen.apply(x, root, slope, share), x, modes="rev")
    assert (found.verdict is Verdict.DISAGREE) is (share != 1.0), found.reason


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, Verdict.AGREE),
        (2.0, Verdict.DISAGREE),
        (-1.0, Verdict.DISAGREE),
        (1.0 + 1e-3, Verdict.INCONCLUSIVE),
    ],
)
def test_the_rule_of_a_loop_next_to_a_jump(share: float, expected: Verdict) -> None:
    """The slope of the limit, 4, is 1 % away from that of the terms that are added."""
    x = torch.tensor([0.5], dtype=torch.float64)
    found = measure_gradient(lambda x: _Unseen.apply(x, _sum, _slope_of_sum, share), x, modes="rev")
    assert found.verdict is expected, found.reason


def test_at_a_jump_nothing_is_called_right() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 if x.item() > 1.0 else x

    at_jump, beside = (measure_gradient(f, torch.tensor(x, dtype=torch.float64)) for x in (1.0, 1.001))
    assert at_jump.verdict is not Verdict.AGREE
    assert beside.verdict is Verdict.AGREE

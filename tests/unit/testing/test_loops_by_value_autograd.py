"""Functions of NumPy in which Python decides by numbers, with autograd's gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import measure_gradient

autograd = pytest.importorskip("autograd")
from autograd.extend import defvjp, primitive  # noqa: E402 - autograd may be absent


def _times(share: float) -> Any:
    """x * y, whose derivative by y is `share` of what is right."""
    times = primitive(lambda x, y: x * y)
    defvjp(times, lambda _, x, y: lambda g: g * y, lambda _, x, y: lambda g: share * g * x)
    return times


def geometric(x: Any, times: Any) -> Any:
    """At 0.5 the number of terms changes 2.4e-3 of x away."""
    total, power = 0.0 * x, 0.0 * x + 1.0
    while abs(power) > 1e-3:
        total, power = total + power, times(power, x)
    return total


def split(x: Any, times: Any) -> Any:
    return autograd.numpy.exp(x) if x[0] < 0.0 and x[1] < 0.0 else times(x, x)


@pytest.mark.parametrize(("f", "x"), [(geometric, 0.5), (split, [1.5, -0.5])])
@pytest.mark.parametrize("share", [1.0, 1.0 + 1e-6, 0.5, -1.0])
def test_a_loop_by_bools_is_traced(f: Any, x: Any, share: float) -> None:
    times = _times(share)
    found = measure_gradient(lambda x: f(x, times), np.asarray(x), framework="autograd", modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason
    assert found.method == "traced"


def test_at_a_jump_nothing_is_called_right() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 if x > 1.0 else x

    at_jump, beside = (measure_gradient(f, np.asarray(x), framework="autograd") for x in (1.0, 1.001))
    assert at_jump.verdict is not Verdict.AGREE
    assert beside.verdict is Verdict.AGREE

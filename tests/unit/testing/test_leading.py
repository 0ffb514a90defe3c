"""check_gradient and check_program inside a test of Hypothesis's: the worst error so far is what the search
climbs to.
"""

from __future__ import annotations

from unittest import mock

import hypothesis
import numpy as np
from hypothesis import given, settings

from gradfuzz import GradientMismatch, check_gradient, check_program
from gradfuzz.strategies import arrays, climb
from gradfuzz.testing import leading


def test_an_error_is_a_target_once_per_example() -> None:
    @settings(max_examples=10, database=None, deadline=None, derandomize=True)
    @given(arrays((2,), min_value=-2.0, max_value=2.0))
    def check(x: np.ndarray) -> None:
        check_gradient(np.sin, x, grad=lambda x, c: c * np.cos(x))
        check_gradient(np.tanh, x, grad=lambda x, c: c * (1.0 - np.tanh(x) ** 2))
        climb(1.0)  # a target of the test's own has another label

    with mock.patch("gradfuzz.strategies.drawing.climb.target", wraps=hypothesis.target) as target:
        check()
    told = [call.args[0] for call in target.call_args_list if "gradfuzz" in call.kwargs["label"]]
    assert len(told) >= 20, "both are told, and the second one of an example is passed over"
    assert max(told) < 0.0, "a right gradient stays below what is allowed"


def test_a_failing_example_is_told_how_wrong_it_is() -> None:
    @settings(
        max_examples=10, database=None, deadline=None, derandomize=True, phases=[hypothesis.Phase.generate]
    )
    @given(arrays((2,), min_value=0.25, max_value=0.5))
    def check(x: np.ndarray) -> None:
        check_gradient(np.sin, x, grad=lambda x, c: c * np.sin(x))

    with mock.patch("gradfuzz.strategies.drawing.climb.target", wraps=hypothesis.target) as target:
        try:
            check()
        except GradientMismatch:
            pass
        else:
            raise AssertionError("sin is not the derivative of sin")
    assert target.call_args_list[0].args[0] > 3.0


def test_outside_of_a_test_nothing_is_told() -> None:
    with mock.patch("gradfuzz.strategies.drawing.climb.target") as target:
        check_gradient(np.sin, 0.5, grad=np.cos)
        check_program("acc*x", "engine", {"x": 0.5})
        leading.lead(None)
    target.assert_not_called()

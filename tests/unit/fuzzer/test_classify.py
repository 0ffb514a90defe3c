"""Classes of disagreement, on hand-made numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.verdict.classify import CLEAR, classify_entry, compare, error_over_allowed

ULP = 2.0**-52


@pytest.mark.parametrize(
    ("expected", "got", "kind"),
    [
        (0.75, 1.3125, Class.WRONG_VALUE),  # acc*x, 3 trips, x = 0.5, adjoints swept in forward order
        (-3.0, 3.25, Class.SIGN_FLIP),  # acc*(x-2), 2 trips, x = 0.5
        (3e-6, 1.000001000001, Class.RATIO_BLOWUP),  # acc*x, 3 trips, x = 0.001
        (0.75, 0.0, Class.MISSING),
        (0.75, -0.0, Class.MISSING),
        (0.0, 1e-30, Class.SPURIOUS),
        (0.75, math.nan, Class.NON_FINITE),
        (0.75, -math.inf, Class.NON_FINITE),
        (0.75, 7.5, Class.RATIO_BLOWUP),
        (0.75, 7.4, Class.WRONG_VALUE),
        (1e-9, 3e-9, Class.WRONG_VALUE),
        (-1e-9, -1e-12, Class.WRONG_VALUE),
        (0.5, -0.5, Class.SIGN_FLIP),  # -1 times
        (-0.5, 0.51, Class.SIGN_FLIP),  # -1.02 times
        (1.0, -0.9375, Class.SIGN_FLIP),
        (-0.5, 1.328125, Class.SIGN_FLIP),  # acc*(x-2), 4 trips, x = 1.5
        (8.0, -4.0, Class.SIGN_FLIP),  # -0.5 times
        (-8.0, 1.0, Class.SIGN_FLIP),  # -0.125 times
        (-8.0, 0.75, Class.WRONG_VALUE),  # -0.094 times
        (0.5, -0.01, Class.WRONG_VALUE),  # -0.02 times
        (0.5, -15.0, Class.RATIO_BLOWUP),  # -30 times
        (-0.5, 15.0, Class.RATIO_BLOWUP),
        (0.75, -7.4, Class.SIGN_FLIP),
        (0.75, -7.5, Class.RATIO_BLOWUP),
        (0.5, 5e-10, Class.WRONG_VALUE),  # 1e-9 times, which float64 tells from zero
        (0.5, -5e-10, Class.WRONG_VALUE),
        (0.0, -0.5, Class.SPURIOUS),
        (0.5, -0.5 * 2.0**-60, Class.MISSING),
        (0.75, 0.75 + 1e-13, Class.PRECISION),
        (-0.75, -0.75 * (1 + 1e-8), Class.PRECISION),
        (0.75, 0.75 * (1 + 1.1e-8), Class.WRONG_VALUE),
        (0.75, 0.75, None),
        (0.75, 0.75 + ULP, None),
        (0.0, 0.0, None),
        (0.0, -0.0, None),
    ],
)
def test_class_of_an_entry(expected: float, got: float, kind: Class | None) -> None:
    assert classify_entry(expected, got, 4 * ULP * abs(expected)) is kind


def test_a_hundredth_is_no_loss_of_digits_in_float32() -> None:
    assert classify_entry(0.75, 0.7575, 1e-6, "float32") is Class.WRONG_VALUE
    assert classify_entry(0.75, 0.7501, 1e-6, "float32") is Class.PRECISION
    assert classify_entry(0.75, 0.7501, 1e-15) is Class.WRONG_VALUE


def test_what_cannot_be_told_from_zero_counts_as_zero() -> None:
    assert classify_entry(1e-18, -1.0, 1e-17) is Class.SPURIOUS
    assert classify_entry(1.0, -1e-18, 1e-17) is Class.MISSING
    assert classify_entry(0.3, -7.2e-9, 1e-7) is Class.MISSING
    assert classify_entry(0.5, 5e-10, 1e-9) is Class.MISSING  # 1e-9 times


def test_a_tenth_of_the_truth_is_not_zero_even_if_rounding_is_as_large() -> None:
    """The error is 11 times what is allowed."""
    assert classify_entry(0.75, 0.0625, 0.0625) is Class.WRONG_VALUE
    assert classify_entry(0.75, -0.0625, 0.0625) is Class.WRONG_VALUE
    assert classify_entry(0.75, 0.0, 0.0625) is Class.MISSING


def test_the_sign_of_an_answer_within_the_allowed_error_of_zero_says_nothing() -> None:
    assert classify_entry(1.0, -0.125, 0.125) is Class.WRONG_VALUE
    assert classify_entry(1.0, -0.125, 0.0625) is Class.SIGN_FLIP


@pytest.mark.parametrize("got", [1.0, 1.125, 0.9, 0.875])
def test_a_truth_within_the_allowed_error_is_right(got: float) -> None:
    assert classify_entry(1.0, got, 0.125) is None


def test_a_flip_of_a_truth_within_the_allowed_error_says_nothing() -> None:
    assert classify_entry(1e-3, -1e-3, 1e-2) is None
    assert classify_entry(1e-3, -1e-1, 1e-2) is Class.SPURIOUS


def test_error_in_units_of_what_is_allowed() -> None:
    assert error_over_allowed(1.0, 1.5, 0.25) == 2.0
    assert error_over_allowed(0.0, 0.0, 0.0) == 0.0
    assert error_over_allowed(0.0, 1e-300, 0.0) == math.inf
    assert error_over_allowed(1.0, math.nan, 0.25) == math.inf


def arrays(**entries: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(values) for name, values in entries.items()}


def test_the_most_serious_clear_entry_decides() -> None:
    expected = arrays(x=[1.0, 1.0, 1.0], y=[2.0])
    got = arrays(x=[1.0, 500.0, -1.0], y=[2.5])
    allowed = arrays(x=[1e-15] * 3, y=[1e-15])
    comparison = compare(expected, got, allowed)
    assert comparison is not None
    assert comparison.kind is Class.SIGN_FLIP
    assert comparison.entry == ("x", (2,))
    assert (comparison.expected, comparison.got, comparison.ratio) == (1.0, -1.0, -1.0)
    assert comparison.largest == pytest.approx(499e15)


def test_a_clear_entry_goes_before_a_more_serious_one_that_is_not_clear() -> None:
    near = 2.0 * CLEAR / 3
    comparison = compare(
        arrays(x=[0.5, 8.0]), arrays(x=[-near, 8.0 + 10 * CLEAR]), arrays(x=[near / 6, 0.125])
    )
    assert comparison is not None
    assert comparison.clear
    assert comparison.entry == ("x", (1,))


def test_agreement_still_tells_the_largest_error() -> None:
    comparison = compare(arrays(x=[1.0, 1.0]), arrays(x=[1.0, 1.0 + 2 * ULP]), arrays(x=[8 * ULP] * 2))
    assert comparison is not None
    assert comparison.kind is None
    assert not comparison.clear
    assert comparison.largest == 0.25


def test_no_entries_no_comparison() -> None:
    assert compare(arrays(x=[]), arrays(x=[]), arrays(x=[])) is None

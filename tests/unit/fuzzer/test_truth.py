"""What two references say together: confirmed, told by one alone, contradicted; at kinks and beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.verdict.checking import LazyAnswers, check_answers
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.truth import Truths
from gradfuzz.oracles.base import Answer, Doubt, Point, Question, Truth
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs.text.parse import parse


def question(expression: str, order: int = 1, **at: Any) -> Question:
    types = ", ".join(f'{name}: "float[{len(v)}]"' if np.ndim(v) else name for name, v in at.items())
    inputs = {name: np.asarray(value, np.float64) for name, value in at.items()}
    directions = {name: np.ones(value.shape) for name, value in inputs.items()}
    program = parse(f"def f({types}):\n    return {expression}\n")
    return Question(
        program, (Point(inputs),), "float64", tuple(at), ("rev",) * order, (np.ones(()),), directions
    )


@pytest.mark.parametrize(
    ("expression", "at", "left", "right"),
    [
        ("abs(x)", {"x": 0.0}, {"x": -1.0}, {"x": 1.0}),
        ("maximum(x, 1.0) * exp(x - 1.0)", {"x": 1.0}, {"x": 1.0}, {"x": 2.0}),
        ("maximum(x, y)", {"x": 1.0, "y": 1.0}, {"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}),
        ("amax(x)", {"x": [2.0, 2.0, 1.0]}, {"x": [0.0, 0.0, 0.0]}, {"x": [1.0, 1.0, 0.0]}),
        ("abs(x) * x", {"x": 0.0}, {"x": 0.0}, {"x": 0.0}),
    ],
)
def test_slopes_at_a_kink_are_confirmed_beside_it(
    expression: str, at: Mapping[str, Any], left: Mapping[str, Any], right: Mapping[str, Any]
) -> None:
    asked = question(expression, **at)
    (sides,) = ArbReference().sides(asked)
    assert sides is not None
    for side, slopes in zip(sides, (left, right), strict=True):
        for name, slope in slopes.items():
            np.testing.assert_allclose(side[name], slope, rtol=0, atol=1e-80)
    (reference_value,) = Truths().confirmed(asked)
    assert reference_value.references == ("arb", "mpmath")
    assert reference_value.truth.kink


def test_beside_a_smooth_point_both_sides_are_the_derivative() -> None:
    (sides,) = ArbReference().sides(question("x * x * x", 2, x=2.0))
    assert sides is not None
    assert [side["x"] for side in sides] == [12.0, 12.0]


def test_a_slope_without_bound_has_no_side() -> None:
    """sqrt(|x|) rises without bound at 0: beside it its slope is a number, but none that a difference would
    see.
    """
    (reference_value,) = Truths().confirmed(question("sqrt(abs(x))", x=0.0))
    assert reference_value.truth.status == "inconclusive"
    assert reference_value.truth.left is None


class _Liar(MpmathReference):
    """Measures the slopes of something else."""

    def truth(self, question: Question) -> list[Truth]:
        return [
            replace(t, right=None if t.right is None else {n: g + 0.5 for n, g in t.right.items()})
            for t in super().truth(question)
        ]


def test_references_that_contradict_each_other_beside_a_kink_judge_nobody() -> None:
    (reference_value,) = Truths(second=_Liar()).confirmed(question("abs(x)", x=0.0))
    assert reference_value.truth.message.startswith(
        "references: they contradict each other about x next to the point"
    )


class _Silent(MpmathReference):
    """Never knows."""

    def truth(self, question: Question) -> list[Truth]:
        return [Truth.unknown(Doubt.WIDE, "nothing agrees")] * len(question.points)


def test_a_wrong_number_needs_both_references() -> None:
    asked = question("x * x", x=3.0)
    wrong = [Answer("ok", (np.asarray(9.0),), {"x": np.asarray(5.0)})]
    (both,) = Evaluator().cases("t", asked, wrong, confirm=True)
    assert (both.verdict, both.references) == (Verdict.DISAGREE, ("arb", "mpmath"))
    (one,) = Evaluator(Truths(second=_Silent())).cases("t", asked, wrong, confirm=True)
    assert (one.verdict, one.reason, one.kind) == (Verdict.INCONCLUSIVE, Reason.REFERENCES, None)
    assert "only arb knows the answer" in one.message


def test_a_wrong_shape_needs_no_number() -> None:
    wrong = [Answer("ok", (np.asarray(9.0),), {"x": np.zeros(2)})]
    (case,) = Evaluator(Truths(second=_Silent())).cases("t", question("x * x", x=3.0), wrong, confirm=True)
    assert case.verdict is Verdict.DISAGREE


class _Counting(ArbReference):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def truth(self, question: Question) -> list[Truth]:
        self.asked += 1
        return super().truth(question)


def test_confirming_a_quick_answer_asks_the_first_reference_no_second_time() -> None:
    first = _Counting()
    truths, asked = Truths(first), question("x * x", x=2.0)
    assert truths.quick(asked)[0].references == ("arb",)
    assert truths.confirmed(asked)[0].references == ("arb", "mpmath")
    assert truths.confirmed(asked)[0].truth.gradient["x"] == 4.0
    assert first.asked == 1


class _Unasked(MpmathReference):
    def truth(self, question: Question) -> list[Truth]:
        pytest.fail("the second reference is asked")


@pytest.mark.parametrize("entries", [3, 8], ids=["by entry", "along directions"])
def test_what_the_range_of_a_dtype_hides_needs_no_second_truth(entries: int) -> None:
    """exp(-90) is a subnormal number in float32."""
    asked = question("sum(exp(x * 90.0))", x=np.full(entries, -1.0))
    asked = replace(asked, precision="float32", points=(Point({"x": np.full(entries, -1.0, np.float32)}),))
    answers: Any = LazyAnswers(EngineOracle(), asked)
    case = check_answers(answers, Evaluator(Truths(second=_Unasked())))
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.RANGE)


def test_a_ball_that_holds_zero_is_shown_as_zero() -> None:
    """The eigenvalues of this matrix are positive: the sum of their moduli is the trace."""
    program = parse('def f(x: "float[2, 2]"):\n    return sum(abs(eigvals(x)))\n')
    point, ones = Point({"x": np.array([[0.5, 0.5], [0.5, 2.0]])}), {"x": np.ones((2, 2))}
    asked = Question(program, (point,), "float64", ("x",), ("fwd", "fwd"), (np.ones(()),), ones)
    (found,) = Truths().quick(asked)
    np.testing.assert_array_equal(found.truth.gradient["x"], np.zeros((2, 2)))
    assert np.all(found.truth.bounds["x"] < 1e-300)

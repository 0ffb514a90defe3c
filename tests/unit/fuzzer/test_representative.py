"""The point that stands for a finding."""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.representative import finding_point
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.oracles.base import Answer, Doubt, Point, Truth
from gradfuzz.programs import parse


@pytest.mark.parametrize(("got", "expected"), [(None, -1.0), (-3.0, -1.0), (3.0, 1.0)])
def test_at_a_kink_the_nearer_slope_stands_and_one_of_them_beside_an_exception(
    got: float | None, expected: float
) -> None:
    program, point = parse("def f(x):\n    return abs(x)\n"), Point({"x": np.array(0.0)})
    question = weighted_question(program, [point], "float64", ("rev",))
    sides = {"left": {"x": np.array(-1.0)}, "right": {"x": np.array(1.0)}}
    truth = Truth.unknown(Doubt.KINK, "a kink", **sides, kink=True)
    answer = Answer("error", message="no") if got is None else Answer("ok", gradient={"x": np.array(got)})
    case = CheckResult("engine", question, point, truth, answer, Verdict.CRASHED, kind=Class.ERROR)
    shown = finding_point(case)
    assert shown.expected["x"] == expected
    assert set(shown.got) == (set() if got is None else {"x"})

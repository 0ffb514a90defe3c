"""The validation of the tolerance counts rightly: what is a measurement, what is left out, and what a
disagreement is put down to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.tolerance_report import text
from benchmarks.tolerance_sample import Tally, asked, known, measure
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.oracles.base import Answer, Point
from gradfuzz.programs import parse
from gradfuzz.strategies import GeneratedCase

PROGRAM = parse("def f(x):\n    return sin(x)\n")


@pytest.fixture
def case() -> CheckResult:
    question = weighted_question(PROGRAM, [Point({"x": np.array(0.5)})], "float64", ("rev",))
    return CheckResult(
        "torch:eager",
        question,
        question.points[0],
        None,
        Answer("ok"),
        Verdict.AGREE,
        error_over_allowed=0.25,
    )


def test_a_near_miss_is_a_measurement_like_any_other(case: CheckResult) -> None:
    t = Tally()
    t.add(case)
    t.add(replace(case, verdict=Verdict.INCONCLUSIVE, reason=Reason.NOISE, error_over_allowed=3.0))
    assert t.errors == [0.25, 3.0]
    assert not t.reasons


def test_what_cannot_be_judged_is_counted_by_its_reason(case: CheckResult) -> None:
    t = Tally()
    t.add(replace(case, verdict=Verdict.INCONCLUSIVE, reason=Reason.KINK, error_over_allowed=None))
    t.add(replace(case, verdict=Verdict.INCONCLUSIVE, reason=Reason.NOISE, error_over_allowed=None))
    t.add(replace(case, verdict=Verdict.INCONCLUSIVE, reason=Reason.PRIMAL, error_over_allowed=2.0))
    t.add(replace(case, verdict=Verdict.CONVENTION, error_over_allowed=0.1))
    t.add(replace(case, verdict=Verdict.UNSUPPORTED, error_over_allowed=None))
    t.add(replace(case, verdict=Verdict.CRASHED, error_over_allowed=None))
    assert t.errors == []
    assert t.reasons == {Reason.KINK: 1, Reason.NOISE: 1}
    assert (t.values, t.kinks, t.unsupported, t.raised) == (1, 1, 1, 1)


def test_a_disagreement_is_no_measurement_and_is_put_down_to_a_bug_only_by_op_and_mode(
    case: CheckResult,
) -> None:
    t = Tally()
    program = parse('def f(a: "float[2, 2]"):\n    return det(a)\n')
    question = weighted_question(program, [Point({"a": np.eye(2)})], "float64", ("fwd", "rev"))
    wrong = replace(
        case,
        question=question,
        point=question.points[0],
        verdict=Verdict.DISAGREE,
        kind=Class.WRONG_VALUE,
        error_over_allowed=1e6,
    )
    t.add(wrong, confirmed=True)
    t.add(replace(case, verdict=Verdict.DISAGREE, kind=Class.SIGN_FLIP, error_over_allowed=11.0))
    assert t.errors == []
    documented, unknown = t.wrong
    found = known(documented)
    assert found is not None
    assert "factorization" in found.words
    assert documented.confirmed
    assert known(unknown) is None
    document = text({("float64", 1, "torch:eager"): replace(t, errors=[0.5])}, 1, 0, {})
    assert "| torch:eager | vjp | sign_flip | not explained | 1 |" in document


def test_every_answer_of_the_engine_is_measured_in_two_orders(seed: int) -> None:
    drawn = GeneratedCase(
        PROGRAM, ({"x": np.array(0.5)}, {"x": np.array(0.25)}, {"x": np.array(2.0)}), ("x",), "float64"
    )
    assert [q.modes for q in asked(drawn, 0, seed, "float64")] == [("rev", "rev"), ("fwd",), ("rev",)]
    assert all(len(q.points) == 2 for q in asked(drawn, 0, seed, "float64"))
    found = measure("float64", "loops", "float64", 0, 3, seed, [("engine", 1)])
    assert set(found) == {("float64", 1, "engine"), ("float64", 2, "engine")}
    for t in found.values():
        assert t.errors
        assert max(t.errors) < 1.0
        assert not t.wrong

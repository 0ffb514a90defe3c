"""The comparison with other checks of gradients counts rightly: misses and false alarms that can be worked
out by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import comparators_sample
from benchmarks.comparators_report import merged, rate
from benchmarks.comparators_sample import (
    SCALES,
    Candidate,
    Tally,
    compare,
    is_right,
    scaled,
    subject,
    wrongness,
)
from benchmarks.foreign_checks import CHECKS, Subject, differences
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Point, Question, Truth
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.programs import Type, loop_program


def square(scale: float = 1.0, error: float = 0.0, at: float = 0.5, dtype: str = "float64") -> Subject:
    """scale x^2, whose gradient is said to be 2 scale x (1 + error)."""

    def value(x: Any) -> Any:
        return x.dtype.type(scale) * x[()] * x[()]

    def gradient(seed: float, x: Any) -> tuple[Any, ...]:
        return (np.asarray(seed * (1.0 + error) * scale * 2 * x, x.dtype),)

    return Subject((np.array(at, dtype),), value, gradient)


def lets_pass(name: str, subject: Subject) -> bool:
    return CHECKS[name][0](subject)


@pytest.mark.parametrize(
    "name", ["torch gradcheck, slow", "torch gradcheck, fast", "jax check_grads", "NablaFuzz's", "rtol 1e-3"]
)
@pytest.mark.parametrize("scale", SCALES)
def test_a_right_gradient_passes_everywhere_in_float64(name: str, scale: float) -> None:
    assert lets_pass(name, square(scale))


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("NablaFuzz's", (False, True, True, True)),  # 0.5 scale against 0.1 + 1e-3 scale
        ("torch gradcheck, slow", (False, False, False, True)),  # against 1e-5 + 1e-3 scale
        ("rtol 1e-3", (False, False, False, False)),  # half of the gradient at every scale
    ],
)
def test_an_error_of_half_the_gradient_passes_below_the_absolute_tolerance(
    name: str, missed: tuple[bool, ...]
) -> None:
    assert tuple(lets_pass(name, square(scale, error=0.5)) for scale in SCALES) == missed


def test_a_step_of_1e_6_is_no_step_for_float32() -> None:
    # 1.5 + 1e-6 is rounded to 1.5 + 8 units of 2^-23: 4.6 % less, where 0.1 % is granted.
    assert not lets_pass("torch gradcheck, slow", square(at=1.5, dtype="float32"))
    assert lets_pass("rtol 1e-3", square(at=1.5, dtype="float32"))


def test_an_alarm_beside_a_kink_is_none_for_nablafuzz() -> None:
    def bend(at: float) -> Subject:
        """10 |x - at|, said to have the slope 0 at 0.5."""
        return Subject(
            (np.array(0.5),), lambda x: 10.0 * abs(x[()] - at), lambda seed, x: (np.zeros_like(x),)
        )

    assert lets_pass("NablaFuzz's", bend(0.5 + 2e-5))
    assert not lets_pass("NablaFuzz's", bend(0.6))


def test_differences_are_central() -> None:
    x = np.array([0.5, -2.0])
    cubes = Subject((x,), lambda x: np.sum(x**3), lambda seed, x: (seed * 3 * x**2,))
    (slope,) = differences(cubes, [x], lambda _: 0.25)
    np.testing.assert_allclose(
        slope, 3 * x**2 + 0.25**2, rtol=1e-14
    )  # ((x + h)^3 - (x - h)^3) / 2h = 3 x^2 + h^2


@pytest.fixture
def cube() -> Question:
    program = loop_program("acc*x", trips=3, params={"x": Type("float")})
    return weighted_question(program, [Point({"x": np.array(0.5)})], "float64", ("rev",))


def test_the_judge_sees_the_reported_bug_of_nx_at_every_scale(
    cube: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparators_sample, "CHECKS", {})
    (mutant,) = (m for m in MUTANTS if m.id == "M1")
    tallies: dict[comparators_sample.Key, Tally] = {}
    compare(Candidate(cube, EngineOracle(), mutant, 0.75, 0.75), "loops", tallies, Evaluator())
    assert {key[3] for key in tallies} == set(SCALES)
    for t in tallies.values():
        assert (t.right, t.alarms, t.wrong, t.passed) == (1, 0, 1, 0)
        assert t.bands == {(1, False): 1}


def test_a_subject_is_the_weighted_sum(cube: Question) -> None:
    (weight,) = (float(w) for w in cube.weights if w is not None)
    for scale in SCALES:
        seen = subject(scaled(cube, scale), EngineOracle())
        assert float(seen.value(*seen.inputs)) == pytest.approx(scale * weight * 0.5**3, rel=1e-12)
        (slope,) = seen.gradient(2.0, *seen.inputs)
        assert float(slope) == pytest.approx(2 * scale * weight * 3 * 0.5**2, rel=1e-12)


@pytest.mark.parametrize(
    ("gradient", "right", "wrong"),
    [
        ([4.0, 0.0, 1e-6], True, 0.0),
        ([4.0, 1e-12, 1e-6], False, 2.5e-13),  # not 0 where it has to be, and still nothing to speak of
        ([4.2, 0.0, 1e-6], False, 0.05),
        (
            [4.0, 0.0, 3e-6],
            False,
            5e-7,
        ),  # wrong by a factor of three, but not plainly: small beside the others
        ([4.0, np.nan, 1e-6], False, np.inf),
    ],
)
def test_right_and_wrong_leave_room_between_them(gradient: list[float], right: bool, wrong: float) -> None:
    truth = Truth("ok", gradient={"x": np.array([4.0, 0.0, 1e-6])})
    assert is_right({"x": np.array(gradient)}, truth, "float64") is right
    assert wrongness({"x": np.array(gradient)}, truth) == pytest.approx(wrong)


def test_what_is_not_judged_is_a_miss_and_no_alarm() -> None:
    t = Tally()
    for verdict in (True, False, None):
        t.add_right(verdict)
        t.add_wrong(verdict, 0.5)
    assert (t.right, t.alarms, t.wrong, t.passed) == (3, 1, 3, 2)
    assert t.unjudged == {"right": 1, "wrong": 1}
    both = merged(
        {("a", "float64", "loops", 1.0): t, ("a", "float64", "linalg", 1.0): t}, "a", "float64", 1.0
    )
    assert both is not None
    assert (both.right, both.passed, both.bands[1, True]) == (6, 4, 4)
    assert merged({}, "a", "float64", 1.0) is None


def test_the_interval_of_no_miss_in_a_hundred() -> None:
    upper = 100 * (1 - 0.025**0.01)  # in closed form: (1 - p)^100 = 2.5 %
    assert rate(0, 100) == f"0 % (0-{upper:.1f})"
    assert rate(0, 0) == "-"


def test_checks_are_called_without_warnings() -> None:
    def warns(function: Callable[[Subject], bool]) -> bool:
        return function(square(dtype="float32"))  # torch warns of float32, and a warning here is an error

    assert warns(CHECKS["torch gradcheck, fast"][0]) in (True, False)

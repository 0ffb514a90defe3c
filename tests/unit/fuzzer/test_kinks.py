"""Kinks by the references themselves: slopes on both sides, along lines too, and what is said about hand-made
answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.conventions.ties import ties
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.kinks import directions_across, on_a_line
from gradfuzz.oracles.base import Answer, Mode, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import Precision


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


def asked(
    text: str, modes: tuple[Mode, ...] = ("rev",), precision: Precision = "float64", **inputs: Any
) -> Question:
    program = parse(text)
    point = Point({p.name: np.array(inputs[p.name]).astype(precision) for p in program.params})
    return plain_question(program, [point], precision, None, modes)


def told(evaluator: Evaluator, question: Question, **gradient: Any) -> CheckResult:
    """The verdict on a made-up gradient beside the engine's own value."""
    (own,) = EngineOracle().answer(question)
    answer = Answer(
        "ok", own.values, {n: np.array(g, question.precision) for n, g in gradient.items()} or own.gradient
    )
    (case,) = evaluator.cases("target", question, [answer], confirm=True)
    return case


def amax(n: int) -> str:
    return f'def f(x: "float[{n}]"):\n    return amax(x)\n'


# Ties -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", [("rev",), ("fwd",)])
@pytest.mark.parametrize("op", ["amax", "amin"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_shares_of_a_tie_are_conventions(
    op: str, n: int, modes: tuple[Mode, ...], evaluator: Evaluator
) -> None:
    other = -1.0 if op == "amax" else 1.0
    question = asked(amax(n + 1).replace("amax", op), modes, x=[0.5] * n + [0.5 + other])
    assert ties(question.program, question.points[0], "float64").count == 1
    for shares in (
        [1 / n] * n,
        [1.0] + [0.0] * (n - 1),
        [0.0] * (n - 1) + [1.0],
        [0.25, 0.75] + [0.0] * (n - 2),
    ):
        case = told(evaluator, question, x=[*shares, 0.0])
        assert case.verdict is Verdict.CONVENTION, case.message
        assert case.conventions == ("extreme-tie",)
    assert told(evaluator, question).verdict is Verdict.CONVENTION  # the engine's own


@pytest.mark.parametrize("modes", [("rev",), ("fwd",)])
@pytest.mark.parametrize(
    "shares",
    [
        (1.0, 1.0),
        (1.0, 1.0, 0.0),
        (1.0, 1.0, 1.0),
        (0.5, 0.5, 0.5),
        (0.25, 0.25, 0.25),
        (1.0, 1.0, 0.0, 0.0),
        (0.5, 0.5, 0.5, 0.5),
    ],
)
def test_shares_that_do_not_add_up_to_one_are_wrong(
    shares: tuple[float, ...], modes: tuple[Mode, ...], evaluator: Evaluator
) -> None:
    """Each lies between its own slopes 0 and 1. Along (1, ..., 1) both slopes are 1."""
    question = asked(amax(len(shares)), modes, x=[0.5] * len(shares))
    case = told(evaluator, question, x=shares)
    assert case.verdict is Verdict.DISAGREE, case.message
    assert f"slope is {sum(shares):g}, and the slopes on both sides of the kink are 1 and 1" in case.message
    # The entry that is shown would have to be smaller or larger by what is too much or missing.
    assert case.expected is not None
    assert (case.got, case.expected - case.got) == (shares[0], pytest.approx(1.0 - sum(shares), abs=1e-12))


def test_a_share_beyond_one_is_wrong_by_itself(evaluator: Evaluator) -> None:
    case = told(evaluator, asked(amax(3), x=[0.5, 0.5, 0.5]), x=[2.0, -0.5, -0.5])
    assert case.verdict is Verdict.DISAGREE
    assert "along" not in case.message


def test_a_tie_inside_a_longer_program(evaluator: Evaluator) -> None:
    """The shares of y amax(x) add up to y, and the slope by y is what it is whatever the shares."""
    text = 'def f(x: "float[3]", y):\n    return amax(x) * y + sin(y)\n'
    question = asked(text, x=[0.5, 0.5, 0.5], y=2.0)
    slope = 0.5 + np.cos(2.0)
    for shares, verdict in (
        ((1.0, 0.5, 0.5), Verdict.CONVENTION),
        ((2.0, 0.0, 0.0), Verdict.CONVENTION),
        ((2.0, 2.0, 0.0), Verdict.DISAGREE),
    ):
        assert told(evaluator, question, x=shares, y=slope).verdict is verdict
    assert told(evaluator, question, x=[1.0, 0.5, 0.5], y=1.1 * slope).verdict is Verdict.DISAGREE


def test_two_ties_at_once(evaluator: Evaluator) -> None:
    """Each row of a matrix has one: what is between the slopes is a convention, and what is no sum of
    conventions is wrong, also where each entry alone might be.
    """
    text = 'def f(x: "float[2, 2]"):\n    return sum(amax(x, axis=1))\n'
    question = asked(text, x=[[1.0, 1.0], [2.0, 2.0]])
    assert ties(question.program, question.points[0], "float64").count == 2
    assert told(evaluator, question, x=[[0.5, 0.5], [0.0, 1.0]]).verdict is Verdict.CONVENTION
    for wrong in ([[1.0, 1.0], [1.0, 1.0]], [[0.5, 0.5], [-1.0, 2.0]], [[0.5, 0.5], [0.0, np.nan]]):
        assert told(evaluator, question, x=wrong).verdict is Verdict.DISAGREE


def test_choices_that_go_either_way_along_a_line_are_legal(evaluator: Evaluator) -> None:
    """Both maxima give the tie to 0: along (1, 1) the slope is 0, and those on both sides are 1 and -1."""
    text = 'def f(x: "float[2]"):\n    y = maximum(x, 0.0)\n    return y[0] - y[1]\n'
    question = asked(text, x=[0.0, 0.0])
    assert told(evaluator, question, x=[0.0, 0.0]).verdict is Verdict.CONVENTION
    assert told(evaluator, question, x=[1.0, 0.0]).verdict is Verdict.CONVENTION
    assert told(evaluator, question, x=[1.0, 0.5]).verdict is Verdict.DISAGREE


def test_second_order_at_a_tie_is_not_called(evaluator: Evaluator) -> None:
    case = told(
        evaluator, asked('def f(x: "float[2]"):\n    return amax(x * x)\n', ("rev", "fwd"), x=[0.5, 0.5])
    )
    assert (case.verdict, case.reason, case.conventions) == (
        Verdict.INCONCLUSIVE,
        Reason.KINK,
        ("extreme-tie",),
    )


# Norms ------------------------------------------------------------------------------------------------------


def test_the_gradient_of_a_norm_at_0_has_at_most_length_1(evaluator: Evaluator) -> None:
    """The subgradients are the unit ball: (1, 1) lies between the slopes -1 and 1 of both entries and outside
    the ball.
    """
    question = asked('def f(x: "float[2]"):\n    return vector_norm(x)\n', x=[0.0, 0.0])
    for inside in ([0.0, 0.0], [1.0, 0.0], [0.6, 0.8], [-0.5, 0.5]):
        assert told(evaluator, question, x=inside).verdict is Verdict.CONVENTION
    for outside in ([1.0, 1.0], [-1.0, -0.75], [1.5, 0.0]):
        assert told(evaluator, question, x=outside).verdict is Verdict.DISAGREE


@pytest.mark.parametrize("modes", [("rev",), ("fwd",)])
def test_nan_is_an_answer_at_a_norm_of_0_only(modes: tuple[Mode, ...], evaluator: Evaluator) -> None:
    nan, inf = np.nan, np.inf
    norm = asked('def f(x: "float[2]"):\n    return vector_norm(x) + x[1]\n', modes, x=[0.0, 0.0])
    case = told(evaluator, norm, x=[nan, nan])
    assert (case.verdict, case.conventions) == (Verdict.CONVENTION, ("norm-at-0",))
    assert told(evaluator, norm, x=[nan, 1.0]).verdict is Verdict.CONVENTION
    for wrong in ([nan, 3.0], [inf, 1.0], [nan, inf]):
        assert told(evaluator, norm, x=wrong).verdict is Verdict.DISAGREE
    elsewhere = asked('def f(x: "float[2]"):\n    return vector_norm(x)\n', modes, x=[3.0, 4.0])
    assert told(evaluator, elsewhere, x=[nan, nan]).kind is Class.NON_FINITE
    absolute = asked("def f(x):\n    return abs(x)\n", modes, x=0.0)
    assert told(evaluator, absolute, x=nan).kind is Class.NON_FINITE


def test_nan_of_a_norm_that_is_always_0(evaluator: Evaluator) -> None:
    """No kink, as the norm of 0 x is 0 everywhere; 0 times NaN is NaN all the same."""
    question = asked('def f(x: "float[2]"):\n    return vector_norm(x * 0.0) + x[0]\n', x=[1.0, 2.0])
    assert told(evaluator, question, x=[np.nan, np.nan]).verdict is Verdict.CONVENTION
    assert told(evaluator, question, x=[1.0, 0.0]).verdict is Verdict.AGREE
    assert told(evaluator, question, x=[2.0, np.nan]).verdict is Verdict.DISAGREE


# Trips, branches, domains -----------------------------------------------------------------------------------

REFLECTED = "def f(x):\n    y = x\n    while y > 1.0:\n        y = 2.0 - y\n    return y\n"
"""Continuous, with a trip more beyond 1."""

DOUBLED = "def f(x):\n    y = x\n    while y < 1.0:\n        y = y * 2.0\n    return y\n"
"""Jumps from 2 to 1 at 1."""


def test_a_trip_count_that_changes_at_the_point(evaluator: Evaluator) -> None:
    question = asked(REFLECTED, x=1.0)
    for slope in (1.0, -1.0, 0.25):
        case = told(evaluator, question, x=slope)
        assert (case.verdict, case.conventions) == (Verdict.CONVENTION, ("threshold",))
    case = told(evaluator, question, x=5.0)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.KINK)


def test_a_jump_is_never_called(evaluator: Evaluator) -> None:
    for slope in (1.0, 2.0, 7.0):
        case = told(evaluator, asked(DOUBLED, x=1.0), x=slope)
        assert case.verdict is Verdict.INCONCLUSIVE
        assert case.reason in (Reason.KINK, Reason.REFERENCES)  # one reference alone knows the slopes


@pytest.mark.parametrize("text", [REFLECTED, DOUBLED])
@pytest.mark.parametrize("side", [-1, 1])
def test_beside_the_change_the_point_is_smooth_or_the_precision_cannot_tell(
    text: str, side: int, evaluator: Evaluator
) -> None:
    """The stencils of the references are far narrower than the spacing of floats."""
    true = {REFLECTED: {-1: 1.0, 1: -1.0}, DOUBLED: {-1: 2.0, 1: 1.0}}[text][side]
    far = asked(text, x=1.0 + side * 1e-6)
    assert told(evaluator, far, x=true).verdict is Verdict.AGREE
    assert told(evaluator, far, x=-3 * true).verdict is Verdict.DISAGREE
    near = asked(text, x=np.nextafter(1.0, 1.0 + side))
    assert evaluator.reference_values(near, confirm=True)[0].truth.status == "ok"
    assert told(evaluator, near, x=true).verdict is Verdict.AGREE


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("sqrt(x)", 0.0),
        ("log(x)", 0.0),
        ("log1p(x)", -1.0),
        ("x ** 0.5", 0.0),
        ("1.0 / x", 0.0),
        ("sqrt(1.0 - x * x)", 1.0),
    ],
)
def test_at_and_beside_the_edge_of_a_domain(text: str, edge: float, evaluator: Evaluator) -> None:
    inside = -1.0 if text == "sqrt(1.0 - x * x)" else 1.0
    at = told(evaluator, asked(f"def f(x):\n    return {text}\n", x=edge))
    assert (at.verdict, at.reason) == (Verdict.INCONCLUSIVE, Reason.DOMAIN)
    assert at.conventions
    for step in (1e-3, 1e-9, 1e-15, 1e-100, 5e-324):
        x = edge + inside * step
        if x != edge:
            case = told(evaluator, asked(f"def f(x):\n    return {text}\n", x=x))
            assert case.verdict in (Verdict.AGREE, Verdict.INCONCLUSIVE), f"{step}: {case.message}"
    wrong = told(evaluator, asked(f"def f(x):\n    return {text}\n", x=edge + inside * 2.0**-20), x=1.0)
    assert wrong.verdict is Verdict.DISAGREE


def test_comparisons_of_counters_are_no_ties(evaluator: Evaluator) -> None:
    """Two equal ints do not keep a kink beside them from being judged."""
    text = (
        "def f(x):\n    y = abs(x)\n    for i in range(3):\n        if i == 1:\n            y = y + x\n   "
        " return y\n"
    )
    question = asked(text, x=0.0)
    found = ties(question.program, question.points[0], "float64")
    assert (found.count, found.conventions) == (1, frozenset({"abs-at-0"}))
    assert told(evaluator, question, x=2.0).verdict is Verdict.CONVENTION
    assert told(evaluator, question, x=3.0).verdict is Verdict.DISAGREE


# Lines ------------------------------------------------------------------------------------------------------


def test_a_program_on_a_line(seed: int) -> None:
    """The value at t is that of the program at x + t d; names that are taken stay what they were."""
    rng = np.random.default_rng(seed)
    text = 'def f(t, x: "float[2]", k: "int"):\n    t_ = sum(x) * t\n    return t_ * k + x[0]\n'
    program = parse(text)
    x, t = rng.normal(size=2), np.array(0.75)
    question = plain_question(program, [Point({"t": t, "x": x, "k": np.array(3)})], "float64", None, ("rev",))
    for direction in directions_across(question):
        moved = on_a_line(question, question.points[0], direction)
        (name,) = moved.wrt
        assert name not in ("t", "t_", "x", "k")
        step = 0.5
        (got,) = interpret(moved.program, {"t": t[()], "x": x, "k": 3, name: step}, NumpyNamespace())
        shifted = {"t": t + step * direction["t"], "x": x + step * direction["x"], "k": 3}
        (expected,) = interpret(program, {**shifted, "t": shifted["t"][()]}, NumpyNamespace())
        assert abs(got - expected) <= 1e-14 * max(1.0, abs(expected))


def test_a_tail_beside_a_kink(evaluator: Evaluator) -> None:
    """The slopes of exp(-|x|) I_1(x) by mpmath: where exp(|x|) leaves the range an answer is judged, too."""
    question = asked('def f(x: "float[3]"):\n    return i1e(x)\n', x=[-1e4, 0.5, 0.0])
    right = [-1.9944869852852435e-7, 0.17577286089453498, 0.5]
    assert told(evaluator, question).verdict is Verdict.CONVENTION
    assert told(evaluator, question, x=right).verdict is Verdict.CONVENTION
    assert told(evaluator, question, x=[np.nan, *right[1:]]).kind is Class.NON_FINITE
    assert told(evaluator, question, x=[right[0], 0.2, 0.5]).verdict is Verdict.DISAGREE
    alone = asked("def f(x):\n    return i1e(x)\n", x=-1e4)
    assert told(evaluator, alone, x=right[0]).verdict is Verdict.AGREE
    assert told(evaluator, alone, x=np.nan).kind is Class.NON_FINITE
    assert told(evaluator, alone, x=2.0 * right[0]).verdict is Verdict.DISAGREE


def test_one_entry_needs_no_lines() -> None:
    assert not list(directions_across(asked("def f(x):\n    return abs(x)\n", x=0.0)))


def test_slopes_along_a_line_are_those_of_the_function_there(evaluator: Evaluator) -> None:
    """Of |x| + y along d: y's part and the size of x's on the right, less it on the left."""
    question = asked("def f(x, y):\n    return abs(x) + 3.0 * y\n", x=0.0, y=1.0)
    (reference_value,) = evaluator.reference_values(question)
    assert len(reference_value.truth.across) == 3
    for line in reference_value.truth.across:
        dx, dy = float(line.direction["x"]), float(line.direction["y"])
        assert (line.left, line.right) == (3 * dy - abs(dx), 3 * dy + abs(dx))

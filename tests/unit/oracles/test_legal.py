"""What legal choices at ties can make of a gradient, next to what can be said by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Point, ProbedQuestion, Question
from gradfuzz.oracles.references.legal import legal_gradients
from gradfuzz.programs import parse

INFINITE = np.inf


def asked(text: str, **inputs: Any) -> Question:
    types = {n: f'"float[{", ".join(map(str, np.shape(x)))}]"' for n, x in inputs.items() if np.shape(x)}
    params = ", ".join(f"{n}: {types[n]}" if n in types else n for n in inputs)
    program = parse(f"def f({params}):\n    return {text}\n")
    point = Point({name: np.asarray(x, np.float64) for name, x in inputs.items()})
    return plain_question(program, [point], "float64", None, ("rev",))


def ends(question: Question, near: float = 0.0) -> Any:
    found = legal_gradients(question, question.points[0], near)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "x", "low", "high"),
    [
        ("maximum(x, 0.0)", 0.0, 0.0, 1.0),
        ("minimum(x, 0.0) * 3.0", 0.0, 0.0, 3.0),
        ("abs(x)", 0.0, -1.0, 1.0),
        ("maximum(x, 0.0) - abs(x) * 0.5", 0.0, -0.5, 1.5),
        ("maximum(x, 0.0) ** 2 + x", 0.0, 1.0, 1.0),
        ("clip(x, -1.0, 2.0) * 4.0", 2.0, 0.0, 4.0),
        ("where(x > 0.0, 3.0 * x, x * x)", 0.0, 0.0, 3.0),
        ("where(x >= 1.0, 5.0, 0.0) + x", 1.0, 1.0, 1.0),
        ("x * sign(x)", 0.0, -1.0, 1.0),
        ("x - floor(x)", 2.0, 1.0, 1.0),
        ("maximum(x, x) * 2.0", 0.5, 2.0, 2.0),
        ("sin(maximum(x, 0.25))", 1.0, np.cos(1.0), np.cos(1.0)),
    ],
)
def test_a_number(text: str, x: float, low: float, high: float) -> None:
    lowest, highest = ends(asked(text, x=x))
    assert lowest["x"] == pytest.approx(low, abs=1e-7)
    assert highest["x"] == pytest.approx(high, abs=1e-7)
    assert lowest["x"] <= low
    assert highest["x"] >= high


@pytest.mark.parametrize(
    ("text", "x", "low", "high"),
    [
        ("amax(x)", [2.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]),
        ("amin(x)", [2.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]),
        ("sum(sort(x)[2:3]) * 2.0", [3.0, 1.0, 3.0, 4.0], [0.0] * 4, [2.0, 0.0, 2.0, 0.0]),
        ("cumulative_max(x)[2]", [1.0, 3.0, 3.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]),
        (
            "vector_norm(x[:2]) + 3.0 * x[2]",
            [0.0, 0.0, 1.0],
            [-INFINITE, -INFINITE, 3.0],
            [INFINITE, INFINITE, 3.0],
        ),
        (
            "sum(where(x > 0.0, sqrt(x), 0.0))",
            [0.0, 0.25, 0.0],
            [-INFINITE, 1.0, -INFINITE],
            [INFINITE, 1.0, INFINITE],
        ),
    ],
)
def test_each_entry_of_an_array(text: str, x: list[float], low: list[float], high: list[float]) -> None:
    """What is not defined at a tie leaves its own entries open, and no other."""
    lowest, highest = ends(asked(text, x=x))
    assert lowest["x"] == pytest.approx(low, abs=1e-7)
    assert highest["x"] == pytest.approx(high, abs=1e-7)


@pytest.mark.parametrize(
    ("text", "x", "slopes"),
    [
        ("sum(log(x))", [0.0, 0.5, 4.0], [np.nan, 2.0, 0.25]),
        ("sum(1.0 / x)", [0.0, 0.5, 4.0], [np.nan, -4.0, -0.0625]),
        ("x[1] * x[2] + sqrt(x[0] - 1.0)", [0.0, 0.5, 4.0], [np.nan, 4.0, 0.5]),
    ],
)
def test_entries_that_do_not_lead_to_where_a_program_is_not_defined(
    text: str, x: list[float], slopes: list[float]
) -> None:
    low, high = ends(asked(text, x=x))
    known = np.isfinite(slopes)
    assert low["x"][known] == pytest.approx(np.array(slopes)[known])
    assert high["x"][known] == pytest.approx(np.array(slopes)[known])
    assert not np.any(np.isfinite(low["x"][~known]))


def test_along_a_line_on_which_a_tie_stays_one() -> None:
    question = asked("amax(x) + amax(x)", x=[1.0, 1.0])
    along = ProbedQuestion.of(question, [{"x": np.ones(2)}, {"x": np.array([1.0, -1.0])}])
    low, high = ends(along)
    assert low["along"] == pytest.approx([2.0, -2.0])
    assert high["along"] == pytest.approx([2.0, 2.0])


def test_a_constant_has_the_digits_of_the_precision() -> None:
    """0.1 in float32 is not 0.1 in float64."""
    question = asked("maximum(x, 0.1)", x=np.float32(0.1))
    narrow = replace(question, precision="float32")
    assert ends(question)[0]["x"] == pytest.approx(1.0)
    low, high = ends(narrow)
    assert (low["x"], high["x"]) == (pytest.approx(0.0, abs=1e-7), pytest.approx(1.0))


def test_numbers_that_rounding_may_make_equal() -> None:
    question = asked("maximum(x, 0.0)", x=1e-14)
    assert ends(question)[0]["x"] == pytest.approx(1.0)
    low, high = ends(question, 1e-12)
    assert (low["x"], high["x"]) == (pytest.approx(0.0, abs=1e-7), pytest.approx(1.0))


@pytest.mark.parametrize("text", ["x[argmax(x)]", "amax(x) + x[argsort(x)[0]]"])
def test_which_of_equal_entries_is_selected_is_not_known(text: str) -> None:
    question = asked(text, x=[2.0, 2.0])
    assert legal_gradients(question, question.points[0]) is None


def test_too_many_entries_are_not_enclosed() -> None:
    question = asked("sum(abs(x))", x=np.zeros(401))
    assert legal_gradients(question, question.points[0]) is None

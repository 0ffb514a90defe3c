"""Do the draws reach what they must reach?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradfuzz.programs import parse
from gradfuzz.programs.language.program import Program
from gradfuzz.strategies import (
    GOALS,
    GeneratedCase,
    cases,
    coverage_counts,
    coverage_table,
    draw_many,
    loops,
    triggers,
)
from gradfuzz.strategies.loop.facts import ProgramFacts

DRAWS = 2000
LEAST = 5
PLANTED = {
    "M1",
    "M2",
    "M3",
    "M4",
    "M5",
    "M6",
    "M7",
    "M8",
    "M9",
    "M10",
    "M12",
    "M14",
    "M15",
    "M17",
    "M18",
    "M20",
    "M21",
    "M22",
}
"""The planted bugs whose triggers are loops."""


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    return coverage_counts(draw_many(cases(), DRAWS, 0))


@pytest.mark.slow
def test_every_goal_is_reached(counts: dict[str, int]) -> None:
    print()
    print(coverage_table(counts, total=DRAWS))
    assert list(counts) == [goal.name for goal in GOALS]
    assert not {name: n for name, n in counts.items() if n < LEAST}


def test_the_planted_bugs_that_must_be_found_have_their_triggers_often(counts: dict[str, int]) -> None:
    """Once in thirty programs for the trigger of each of the first six, where a sweep has two hundred."""
    for number in ("M1", "M2", "M3", "M4", "M5", "M6"):
        assert all(counts[goal.name] > DRAWS / 30 for goal in GOALS if number in goal.mutants)


def test_every_planted_bug_of_loops_has_a_goal() -> None:
    assert {number for goal in GOALS for number in goal.mutants} == PLANTED


def test_goals_have_one_name_each() -> None:
    assert len({goal.name for goal in GOALS}) == len(GOALS)


@pytest.mark.slow
def test_another_seed_reaches_the_goals_as_often(counts: dict[str, int]) -> None:
    """The shares are properties of the strategies, not luck: two samples differ by no more than five standard
    deviations.
    """
    again = coverage_counts(draw_many(cases(), DRAWS // 2, 1))
    for name, n in counts.items():
        share = (n + again[name] + 1) / (DRAWS * 1.5)
        deviation = (share * (1 - share) * (1 / DRAWS + 2 / DRAWS)) ** 0.5
        assert abs(n / DRAWS - again[name] / (DRAWS / 2)) <= 5 * deviation + 1 / DRAWS, name


# Each trigger by hand ---------------------------------------------------------------------------------------

ONE = {"x": np.array(0.5)}


def case(
    text: str,
    point: dict[str, np.ndarray] | None = None,
    wrt: tuple[str, ...] = ("x",),
    modes: tuple[str, ...] = ("rev",),
) -> GeneratedCase:
    return GeneratedCase(parse(text), (ONE if point is None else point,), wrt, "float64", modes)


CLASSIC = """
def f(x):
    acc = 1.0
    for i in range(3):
        acc = acc * x
    return acc
"""
SWIFT = """
def f(x, y):
    b = x * y
    acc = x
    i = 0
    while True:
        t = acc * y
        acc = sin(t) + t
        i = i + 1
        if not (acc < x and i < 8):
            break
    return acc + b, x
"""
NESTED = """
def f(x, n: "int"):
    acc = 1.0
    h = array([1.0, 2.0])
    for i in range(n):
        h = stack([h[1] * x, h[0]])
        for j in range(i):
            acc = acc * x
            if acc > 10.0:
                break
    k = 0
    while k < 2:
        t = acc
        if k == 1:
            acc = t / x
        k = k + 1
    return acc * 1000000.0
"""
SEQUENCE = """
def f(v: "float[3]", x):
    acc = 0.0
    i = 0
    while acc < 2.0 and i < 3:
        acc = acc + v[i]
        v[i] = x
        i = i + 1
    return acc
"""


@pytest.mark.parametrize(
    ("asked", "reached", "missed"),
    [
        (
            case(CLASSIC),
            {
                "trips 3",
                "for",
                "static trips",
                "constant start",
                "constant start, scaled",
                "order of adjoints",
                "captured, constant start",
            },
            {
                "parameter start",
                "temporary",
                "differentiated start",
                "nonlinear in the carry",
                "dropped carry",
                "one input alone",
            },
        ),
        (
            case(CLASSIC.replace("1.0", "x").replace("acc * x", "acc * acc"), modes=("fwd", "fwd")),
            {
                "parameter start",
                "differentiated start",
                "nonlinear in the carry",
                "fwd-fwd",
                "forward over forward",
            },
            {"constant start", "parameter closed over", "rev"},
        ),
        (case(CLASSIC.replace("range(3)", "range(0)")), {"trips 0"}, {"trips 1", "order of adjoints"}),
        (
            case(SWIFT, {"x": np.array(0.0), "y": np.array(0.0)}, wrt=("y",)),
            {
                "repeat by value",
                "data-dependent trips",
                "parameter in the condition",
                "temporary used twice",
                "repeat with a temporary",
                "value from before, used after",
                "several outputs",
                "input returned",
                "one input alone",
                "two zeros",
                "equal inputs",
            },
            {
                "parameter only in the condition",
                "value from before, used in and after",
                "static trips",
                "all inputs together",
                "one zero",
            },
        ),
        (
            case(NESTED, {"x": np.array(1e-12), "n": np.array(5)}),
            {
                "run-time trips",
                "trips 5",
                "nested",
                "triangular",
                "inner reads the outer carry",
                "chained",
                "fed by a loop",
                "break",
                "branch on the counter",
                "vector rebuilt",
                "scalar next to array",
                "dropped carry",
                "division in the body",
                "scale 1e6",
                "1e-12",
                "near zero",
            },
            {"branch on a value", "continue", "matrix carry", "scale 1e-6", "one zero"},
        ),
        (
            case(SEQUENCE, {"v": np.ones(3), "x": np.array(4.0)}, wrt=("v", "x")),
            {
                "while by value",
                "array read by the counter",
                "array written by the counter",
                "stops by value over a sequence",
                "whole sequence differentiated",
                "all inputs together",
                "equal entries",
                "power of two",
            },
            {"matrix carry", "one input alone", "negative"},
        ),
        (
            case(SEQUENCE, {"v": np.ones(3), "x": np.array(4.0)}),
            {"stops by value over a sequence"},
            {"whole sequence differentiated"},
        ),
    ],
)
def test_triggers_of_known_cases(asked: GeneratedCase, reached: set[str], missed: set[str]) -> None:
    found = triggers(asked)
    assert reached <= found, f"not seen: {reached - found}"
    assert not missed & found


@pytest.mark.parametrize(
    ("change", "goal"),
    [
        (lambda t: t.replace("acc * x", "sin(x)"), "overwritten carry"),
        (lambda t: t.replace("acc = acc * x", "acc = acc * i"), "counter in the body"),
        (lambda t: t.replace("return acc", "return acc * x"), "parameter closed over"),
        (
            lambda t: t.replace("    acc = 1.0", "    c = x\n    acc = 1.0").replace(
                "acc * x", "acc * c\n        c = c * 0.5"
            ),
            "parameter carried",
        ),
        (lambda t: t.replace("acc * x", "acc + x * x"), "same input twice"),
    ],
)
def test_a_change_brings_the_goal(change: Callable[[str], str], goal: str) -> None:
    assert goal in triggers(case(change(CLASSIC)))


def test_facts_of_a_loop() -> None:
    facts = ProgramFacts(parse(SWIFT))
    (loop,) = facts.loops
    assert (loop.form, loop.count, loop.counter, loop.by_value) == ("repeat", 8, "i", True)
    assert loop.carries == ("acc",)
    assert loop.temporaries == ("t",)
    assert loop.after == {"acc", "b", "x"}
    assert loop.earlier == {"x", "y"}
    assert facts.depends["acc"] == {"x", "y"}


def test_facts_can_be_read_off_every_program() -> None:
    programs: list[Program] = draw_many(loops(), 300, 2)
    assert all(ProgramFacts(p).top for p in programs)

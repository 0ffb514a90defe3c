"""What the strategies tell Hypothesis of a drawn program: its statistics and observations have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.control import current_build_context

from gradfuzz.programs import Program, parse
from gradfuzz.programs.language.program import called
from gradfuzz.strategies import complex_programs, linalg_cases, linalg_programs, loops, tensor_programs
from gradfuzz.strategies.loop.statistics import observed
from tests.shell import PYTEST, python


def events_of(strategy: st.SearchStrategy[Any]) -> list[tuple[Program, dict[str, Any]]]:
    """Some draws, with the events of their examples."""
    found: list[tuple[Program, dict[str, Any]]] = []

    @seed(0)
    @settings(max_examples=5, database=None)
    @given(strategy)
    def test(drawn: Any) -> None:
        found.append((getattr(drawn, "program", drawn), dict(current_build_context().data.events)))

    test()
    return found


@pytest.mark.parametrize(
    ("family", "strategy"),
    [
        ("loops", loops()),
        ("linalg", linalg_programs()),
        ("linalg", linalg_cases()),
        ("tensor", tensor_programs()),
        ("complex", complex_programs()),
    ],
)
def test_family_and_ops_are_events(family: str, strategy: st.SearchStrategy[Any]) -> None:
    for program, events in events_of(strategy):
        assert events["gradfuzz family"] == family
        assert {name for name in events if name.startswith("gradfuzz op ")} == {
            f"gradfuzz op {op}" for op in called(program)
        }


LOOPS = """
def f(x, n: "int"):
    acc = 1.0
    for i in range(3):
        acc = acc * x
    for j in range(n):
        acc = acc + x
    while acc < 2.0:
        acc = acc * 2.0
    return acc
"""


def test_loops_and_trips_are_events() -> None:
    ((_, events),) = events_of(st.just(LOOPS).map(parse).map(lambda p: observed(p, "mine")))[:1]
    assert events["gradfuzz loop"] == "for, while"
    assert events["gradfuzz trips"] == 3
    assert {"gradfuzz trips are given at run time", "gradfuzz trips depend on values"} <= set(events)
    ((_, events),) = events_of(st.just("def f(x):\n    return x").map(parse).map(lambda p: observed(p, "m")))[
        :1
    ]
    assert events["gradfuzz loop"] == "none"
    assert "gradfuzz trips" not in events


def test_nothing_is_told_outside_of_a_test() -> None:
    program = parse(LOOPS)
    assert observed(program, "mine") is program


@pytest.mark.slow  # pytest in a process of its own
def test_statistics_and_observations_have_them(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from hypothesis import given\nfrom gradfuzz.strategies import loops\n\n\n"
        "@given(loops(max_trips=3))\ndef test(program):\n    pass\n"
    )
    how = {"cwd": tmp_path, "exit_code": 0, "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY": "1"}
    done = python(*PYTEST, "--hypothesis-show-statistics", "test_it.py", **how)
    for words in (
        "%, gradfuzz family: loops",
        "%, gradfuzz loop: for",
        "%, gradfuzz op ",
        "gradfuzz trips: ",
    ):
        assert words in done.stdout
    lines = [
        line
        for file in (tmp_path / ".hypothesis" / "observed").glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    families = [json.loads(line).get("features", {}).get("gradfuzz family") for line in lines]
    assert families.count("loops") > len(families) // 2, "some lines are about the test, not about an example"

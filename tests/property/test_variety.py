"""The ways in which programs use an op, and cases that visit them all soon."""

from __future__ import annotations

from typing import Any

import pytest

from gradfuzz.fuzzer.findings.applied_rules import applied_rules
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.sweep.cases import drawn
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.programs import parse
from gradfuzz.programs.language.program import called
from gradfuzz.strategies import FAMILIES
from gradfuzz.strategies.drawing.variety import most_varied, usages

PROGRAM = """
def f(a: "float[2, 3]", b: "float[3]"):
    y = cumulative_sum(a, axis=0) + b
    for i in range(2):
        y = cumulative_sum(y, axis=1)
    return sum(y * 2.0)
"""


@pytest.mark.parametrize(
    ("op", "facts"),
    [
        (
            "cumulative_sum",
            {"axis first", "axis last", "operand 0 wide", "alone", "in a loop"},
        ),
        ("add", {"operand 0 wide", "operand 1 vector", "operand 1 unlike the result", "alone"}),
        ("multiply", {"operand 0 wide", "operand 1 scalar", "operand 1 constant", "alone"}),
        ("divide", set()),
    ],
)
def test_facts_about_calls(op: str, facts: set[str]) -> None:
    assert {usage[0] for usage in usages(parse(PROGRAM), op) if len(usage) == 1} == facts


def test_pairs_are_of_one_call() -> None:
    pairs = {usage for usage in usages(parse(PROGRAM), "cumulative_sum") if len(usage) == 2}
    assert ("alone", "axis first") in pairs
    assert ("axis last", "in a loop") in pairs
    assert ("alone", "axis last") not in pairs


@pytest.mark.parametrize(
    ("shape", "fact"),
    [
        ("", "scalar"),
        ("[4]", "vector"),
        ("[0]", "empty"),
        ("[2, 2]", "square"),
        ("[3, 2]", "tall"),
        ("[0, 2]", "empty wide"),
        ("[5, 2, 3]", "stack of wide"),
    ],
)
def test_shapes(shape: str, fact: str) -> None:
    program = parse(f'def f(x: "float{shape}"):\n    return sin(x)\n')
    assert (f"operand 0 {fact}",) in usages(program, "sin")


def test_what_brings_most_comes_first_and_what_brings_nothing_hardly() -> None:
    stream = ["a", "ab", "abc", "a", "d", "a", "a", "a", "e"]
    assert list(most_varied(iter(stream), frozenset, 5)) == ["abc", "d", "e"]
    assert list(most_varied(iter("aaaa"), frozenset, 2)) == ["a", "a"], "at least one of each pool"


@pytest.mark.parametrize("family", [name for name, row in FAMILIES.items() if row.turns])
def test_the_cut_into_batches_changes_no_turn(family: str, seed: int) -> None:
    def turns(*sizes: int) -> list[Any]:
        first, found = 0, []
        for number, size in enumerate(sizes):
            cases = drawn(WorkItem(number, first, size, family, seed, ()))
            found += [case.program for k, case in enumerate(cases, first) if k % every == every - 1]
            first += size
        return found

    every = FAMILIES[family].every
    assert turns(12) == turns(5, 7)


@pytest.mark.parametrize("family", [name for name, row in FAMILIES.items() if row.turns])
def test_every_op_has_its_turn_before_one_has_its_second(family: str, seed: int) -> None:
    row = FAMILIES[family]
    count = len(row.turns) * row.every
    cases = drawn(WorkItem(0, 0, count, family, seed, ()))
    about_one = [called(case.program) for case in cases[row.every - 1 :: row.every]]
    met = set().union(*about_one)
    assert set(row.turns) - met == set()


def test_the_op_whose_turn_it_is_has_something_to_differentiate(seed: int) -> None:
    """Of sqrt(2.0) no rule is asked. `remainder` has the counters of loops as its operands."""
    row = FAMILIES["loops"]
    cases = drawn(WorkItem(0, 0, len(row.turns) * row.every, "loops", seed, ()))
    without = set(row.turns) - {"remainder"}
    for case in cases[row.every - 1 :: row.every]:
        question = plain_question(case.program, case.points, "float64", None, ("rev",))
        without -= {op for _, op, _ in applied_rules(question)}
    assert len(without) <= 2, without

"""The report card of a library's functions: a word for each derivative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.cli.probe import probe
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.sweep import functions as sweeps
from gradfuzz.fuzzer.sweep.card import card, report
from gradfuzz.fuzzer.turns.turn import Result, merged
from tests.report_data import finding, finished

MODES = ("rev", "fwd", "rev rev", "rev fwd", "fwd rev", "fwd fwd")
GOOD = {f"{modes}: agree": 2 for modes in MODES}


def summary(name: str, outcome: str = "asked", **more: Any) -> FunctionSummary:
    return FunctionSummary(
        name, more.pop("signature", f"{name[4:]}(x)"), outcome, more.pop("why", ""), **more
    )


ALL = (
    summary("lib.sin", answers=GOOD),
    summary("lib.sort", answers={"rev: agree": 1, "rev: convention": 1, "fwd: inconclusive": 2}),
    summary("lib.bad", answers={"rev: agree": 1, "rev: disagree": 1, "fwd: crashed": 2}),
    summary("lib.igamma", answers={"rev: agree": 2}, lacks={"fwd": "not implemented"}),
    summary("lib.io", "left out", why="writes"),
    summary("lib.tricky", "refused", why="ValueError: no"),
    summary("lib.late", "not reached"),
)


def of(**more: Any) -> Any:
    return report("lib", replace(finished([]), functions=ALL, **more))


def test_a_word_for_each_derivative() -> None:
    (table,) = of().tables
    assert table.columns == ("function", *MODES, "label")
    assert {row[0]: row[1:] for row in table.rows} == {
        "lib.sin": ("ok", "ok", "ok", "ok", "ok", "ok", "agrees"),
        "lib.sort": ("ok", "inconclusive", "", "", "", "", "agrees"),
        "lib.bad": ("wrong", "exception", "", "", "", "", "differs"),
        "lib.igamma": ("ok", "refused", "", "", "", "", "agrees"),
        "lib.tricky": ("", "", "", "", "", "", "unsupported"),
    }
    assert "The time was up: 1 functions were not called." in table.notes
    assert "lib.tricky accepted no call that was drawn, or has no derivative: ValueError: no" in table.notes
    summary = of().summary
    assert summary[:2] == ("rev: wrong 1, ok 3.", "fwd: exception 1, ok 1, inconclusive 1, refused 1.")


def test_overloads_have_a_column() -> None:
    both = (summary("lib.f", signature="f.Tensor(Tensor x) -> Tensor"), summary("lib.g"))
    (table,) = report("lib", replace(finished([]), functions=both)).tables
    assert table.columns[:2] == ("function", "overload")
    assert [row[:2] for row in table.rows] == [("lib.f", "Tensor"), ("lib.g", "")]


def test_a_finding_is_a_numbered_cell() -> None:
    wrong = replace(finding(), code="x0 = 1.0\ny = lib.bad(x0)", culprits=("lib.bad",), modes=("fwd", "rev"))
    error = replace(wrong, kind=Class.ERROR, note="ValueError: 1", script="")
    cells = of(findings=(wrong, error)).cells
    assert [(one.word, one.op, one.column) for one in cells] == [
        ("wrong", "lib.bad", "fwd rev"),
        ("exception", "lib.bad", "fwd rev"),
    ]
    assert cells[0].script == wrong.script
    assert cells[1].text == "ValueError: 1"


def test_answers_are_added_up() -> None:
    parts = [Result(answers={"rev: agree": 2}), Result(answers={"rev: agree": 1, "fwd: agree": 1})]
    assert merged(parts).answers == {"rev: agree": 3, "fwd: agree": 1}


def test_functions_are_chosen_by_how_their_names_end() -> None:
    functions = [
        Function((name,), f"{name}(x)", DIFFERENTIABLE, "") for name in ("a.det", "a.b.det", "a.sin")
    ]
    assert sweeps.chosen("1", functions, None) == ("1", functions)
    assert sweeps.chosen("1", functions, ["det"])[1] == functions[:2]
    assert sweeps.chosen("1", functions, ["b.det", "sin"])[1] == functions[1:]
    with pytest.raises(UsageError, match="there is no function 'et'"):
        sweeps.chosen("1", functions, ["et"])


def test_a_time_is_above_zero() -> None:
    with pytest.raises(UsageError, match="above 0"):
        card("autograd", print, max_time=0.0)


def test_the_command_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    monkeypatch.setattr(sweeps, "functions", lambda name: ("1.8.0", [SIN]))
    done = CliRunner().invoke(probe, ["autograd", "--suite", "functions", "--op", "numpy.sin"])
    assert done.exit_code == 0, done.output
    assert "autograd.numpy.sin" in done.output
    assert "rev: ok 1." in done.output


SIN = Function(
    *(("autograd.numpy.sin",), "sin(x)", DIFFERENTIABLE, ""),
    (Parameter("x", (ARRAY,), required=True),),
)

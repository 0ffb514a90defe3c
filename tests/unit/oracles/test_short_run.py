"""A short reproducer is kept only if it shows what its finding says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.reproducer import short
from gradfuzz.fuzzer.findings.short_run import shows
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.oracles.base import Answer, Mode, Point
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from tests.releases import skip_where_right

PRINTS = 'print("got     ", {})\nprint("expected", {})\n'


def case(kind: Class, got: float | None = None, message: str = "") -> CheckResult:
    program = parse("def f(x):\n    return x\n")
    question = plain_question(program, [Point({"x": np.array(0.5)})], "float64", None, ("rev",))
    wrong = CheckResult("torch", question, question.points[0], None, Answer("ok"), Verdict.DISAGREE)
    return replace(wrong, kind=kind, got=got, expected=1.0, message=message)


@pytest.mark.parametrize(
    ("kind", "got", "printed", "expected"),
    [
        (Class.WRONG_VALUE, 2.0, ("2.0", "1.0"), True),
        (Class.WRONG_VALUE, 2.0, ("2.0001", "1.0"), True),
        (Class.WRONG_VALUE, 2.0, ("1.0", "1.0"), False),
        (Class.WRONG_VALUE, 2.0, ("3.0", "1.0"), False),
        (Class.PRECISION, 1.00001, ("1.00001", "1.0"), True),
        (Class.PRECISION, 1.00001, ("1.0", "1.0"), False),
        (Class.NON_FINITE, math.nan, ("nan", "1.0"), True),
        (Class.NON_FINITE, math.inf, ("1.0", "1.0"), False),
        (Class.WRONG_SHAPE, None, ("(1,)", "()"), True),
        (Class.WRONG_SHAPE, None, ("()", "()"), False),
    ],
)
def test_what_is_printed_is_compared(
    kind: Class, got: float | None, printed: tuple[str, str], expected: bool
) -> None:
    given, right = (f'float("{x}")' if kind.of_numbers else x for x in printed)
    assert shows(PRINTS.format(given, right), case(kind, got)) == expected


def test_an_exception_is_the_one_of_the_finding() -> None:
    raised = case(Class.ERROR, message="ZeroDivisionError: division by zero")
    assert shows("1 / 0", raised)
    assert not shows("[][0]", raised)
    assert not shows(PRINTS.format("1.0", "1.0"), raised)
    assert not shows("1 / 0", case(Class.WRONG_VALUE, 2.0))


def test_other_lines_that_are_printed_do_not_matter() -> None:
    """A function of a user's own may print a word, and an array takes several lines."""
    wrong = case(Class.WRONG_VALUE, 2.0)
    assert shows('print("word")\n' + PRINTS.format("2.0", "1.0"), wrong)
    assert not shows('print("word")', wrong)
    raised = case(Class.ERROR, message="ValueError: no")
    assert not shows('print("expected", 1.0)\nprint("got     ", "[[1.]\\n[2.]]")', raised)


def test_lines_that_end_the_process_are_not_run() -> None:
    pytest.importorskip("torch")
    program = parse("def f(x):\n    return sin(x)\n")
    candidate = Candidate.of(
        plain_question(program, [Point({"x": np.array(0.5)})], "float64", None, ("rev",))
    )
    target = resolve("torch:eager")[0]
    right = asked(candidate, target)
    for message, expected in (("SIGSEGV: the process ended", True), ("ValueError: not raised", False)):
        dead = replace(right, verdict=Verdict.CRASHED, kind=Class.ERROR, message=message)
        assert bool(short(candidate, dead, target)) == expected


def script_of(target: str, text: str, modes: tuple[Mode, ...], **inputs: object) -> tuple[str, CheckResult]:
    """The short reproducer of what a target answers wrongly; with the case."""
    point = Point({name: np.array(value) for name, value in inputs.items()})
    candidate = Candidate.of(plain_question(parse(text), [point], "float64", None, modes))
    found = asked(candidate, resolve(target)[0])
    assert found.verdict.is_wrong, found
    return short(candidate, found, resolve(target)[0]), found


def test_autograd_is_called_as_it_was_asked() -> None:
    """The norm of autograd, and not a square root of a sum of squares, which is right."""
    pytest.importorskip("autograd")
    text = 'def f(x: "float[2, 1, 1]"):\n    return matrix_norm(inv(x))\n'
    script, _ = script_of("autograd", text, ("rev",), x=[[[0.5]], [[0.5]]])
    assert "norm(" in script
    assert "sqrt" not in script


def test_torch_says_zero_where_the_tangent_depends_on_nothing() -> None:
    pytest.importorskip("torch")
    skip_where_right("torch", "2.15")
    text = 'def f(x: "float[1, 1]"):\n    return slogdet(x)[1]\n'
    script, found = script_of("torch:eager", text, ("fwd", "rev"), x=[[0.5]])
    assert found.kind is Class.MISSING
    assert "requires_grad else" in script

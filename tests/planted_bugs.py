"""Planted bugs, asked one question and swept: what the tests of several families share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.events import FindingFound, Progress
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Mode, Point
from gradfuzz.oracles.mutants.registry import mutant
from gradfuzz.programs import parse

_ENTRIES = (0.375, -0.75, 1.25, 0.5, -1.5, 0.875, 1.625, -0.25, 0.625)


def first_finding(name: str, seed: int, most: int, **settings: Any) -> Finding:
    """The first finding of a sweep of a planted bug, within so many programs. It is printed."""
    programs = 0
    for event in sweep(SweepConfig((f"mutant:{name}",), seed=seed, max_examples=most, **settings)):
        if isinstance(event, Progress):
            programs = event.programs
        elif isinstance(event, FindingFound):
            found = event.finding
            print(f"mutant:{name} seed {seed}: {found.kind.value} within {programs} programs")
            print(f"{found.program}{found.note}")
            return found
    pytest.fail(f"seed {seed}: {most} programs do not find mutant:{name}")


def check_verdict(name: str, text: str, modes: tuple[Mode, ...], verdict: Verdict) -> None:
    """The verdict on a planted bug about "x, y -> x * y"."""
    header, _, expression = text.partition(" -> ")
    program = parse(f"def f({header}):\n    return {expression}\n")
    values = iter(np.array(_ENTRIES))
    point = Point(
        {
            p.name: np.array([next(values) for _ in np.ndindex(*p.type.sizes)]).reshape(p.type.sizes)
            for p in program.params
        }
    )
    question = weighted_question(program, [point], "float64", modes)
    oracle = mutant(name)
    assert oracle is not None
    (case,) = evaluator().cases(oracle.name, question, oracle.answer(question))
    assert case.verdict is verdict, case.message

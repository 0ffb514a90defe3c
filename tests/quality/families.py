"""What the tests of the families of programs share: a planted bug, on one program and in a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.events import FindingFound, Progress
from gradfuzz.fuzzer.results.finding import CheckResult, Finding
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.oracles.mutants.registry import mutant
from gradfuzz.programs import parse

VALUES = (0.375, -0.75, 1.25, 0.5, -1.5, 0.875, 1.625, -0.25, 0.625)


def first_finding(name: str, family: str, seed: int, most: int = 300, **options: Any) -> tuple[Finding, int]:
    """What a sweep of a planted bug finds first, and after how many programs."""
    programs = 0
    config = SweepConfig((f"mutant:{name}",), families=(family,), seed=seed, max_examples=most, **options)
    for event in sweep(config):
        if isinstance(event, Progress):
            programs = event.programs
        elif isinstance(event, FindingFound):
            finding = event.finding
            print(f"mutant:{name} seed {seed}: {finding.kind.value} within {programs}\n{finding.program}")
            return finding, programs
    pytest.fail(f"seed {seed}: {most} programs do not find mutant:{name}")


def answered(name: str, question: Question) -> CheckResult:
    """The verdict on a planted bug."""
    oracle = mutant(name)
    assert oracle is not None
    (case,) = evaluator().cases(oracle.name, question, oracle.answer(question))
    return case


def asked(text: str, modes: tuple[Mode, ...] = ("rev",)) -> Question:
    """The question about an expression, as in "x, y -> x * y", at simple numbers."""
    header, _, expression = text.partition(" -> ")
    program = parse(f"def f({header}):\n    return {expression}\n")
    values = iter(VALUES)
    inputs = {
        p.name: np.array([next(values) for _ in np.ndindex(*p.type.sizes)]).reshape(p.type.sizes)
        for p in program.params
    }
    return weighted_question(program, [Point(inputs)], "float64", modes)

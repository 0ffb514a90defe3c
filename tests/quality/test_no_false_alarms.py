"""Correct oracles are never accused, and stay far inside what they are allowed.

The figures printed here are where `tolerance.SAFETY` comes from.
"""

from __future__ import annotations

import importlib.util
from collections import Counter

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.registry import resolve
from gradfuzz.strategies import FAMILIES, cases, draw_many

HEADROOM = 0.5
"""No right answer comes nearer than this to what is allowed: half of SAFETY is margin."""

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def verdicts(oracle: str, programs: int, seed: int, family: str = "loops") -> list[CheckResult]:
    """Every check of one oracle, measured in full: answers that are right to the last bit as well."""
    (target,) = resolve(oracle)
    evaluator = Evaluator()
    result: list[CheckResult] = []
    wanted = cases() if family == "loops" else FAMILIES[family].cases(("float64", "float32"))
    for index, drawn in enumerate(draw_many(wanted, programs, seed)):
        for question in questions(drawn, index, seed):
            if target.supports(question) is None:
                result += evaluator.cases(target.name, question, target.answer(question), thorough=True)
    return result


def report(oracle: str, found: list[CheckResult]) -> float:
    """Prints the distribution of error over allowed; returns its maximum."""
    ratios = np.array(
        [
            c.error_over_allowed
            for c in found
            if c.verdict is Verdict.AGREE and c.error_over_allowed is not None
        ]
    )
    counts = Counter(c.verdict.value if c.reason is None else c.reason.name for c in found)
    quantiles = "  ".join(f"{q:g}: {np.quantile(ratios, q):.3f}" for q in (0.5, 0.9, 0.99, 0.999, 1.0))
    print(f"{oracle}: {len(found)} checks {dict(counts)}; error / allowed {quantiles}")
    return float(ratios.max())


def check(
    oracle: str,
    programs: int,
    seed: int,
    *,
    tolerated: frozenset[Verdict] = frozenset(),
    family: str = "loops",
) -> None:
    found = verdicts(oracle, programs, seed, family)
    largest = report(oracle, found)
    for case in found:
        assert case.verdict not in {Verdict.DISAGREE, Verdict.CRASHED} - tolerated, (
            f"{case.kind} {case.message} expected {case.expected} got {case.got} at {case.point.inputs},"
            f" modes {case.question.modes} {case.question.precision} wrt"
            f" {case.question.wrt}\n{case.question.program}"
        )
    assert sum(c.verdict is Verdict.AGREE for c in found) > 0.8 * len(found)
    assert largest < (HEADROOM if family == "loops" else 1.0)


def test_engine(seed: int) -> None:
    check("engine", 60, seed)


def test_engine_on_matrix_programs(seed: int) -> None:
    check("engine", 12, seed, family="linalg")


@needs_torch
def test_torch_func(seed: int) -> None:
    check("torch:func", 12, seed)


@pytest.mark.slow
def test_engine_at_length(seed: int) -> None:
    check("engine", 1500, seed + 1)

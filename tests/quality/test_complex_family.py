"""The family of complex programs: no false alarm about the engine, and planted bugs that are found and
shrunk.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.events import FindingFound, SweepFinished
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.shrinking.shrink import operations
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.mutants.registry import mutant
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse

MAX_PROGRAMS = 300
MUTANTS = ("conjugate-forgotten", "adjoint-transposed", "modulus-conjugate")
SHOWN = [
    ("conjugate-forgotten", "x, y -> x * y", Verdict.AGREE),
    ("conjugate-forgotten", "x, y -> imag(complex(x, y) * complex(0.5, 0.0))", Verdict.AGREE),
    ("conjugate-forgotten", "x, y -> imag(complex(x, y) * complex(0.5, 1.0))", Verdict.DISAGREE),
    ("adjoint-transposed", 'x: "float[2]", y: "float[2]" -> x @ y', Verdict.AGREE),
    (
        "adjoint-transposed",
        'x: "float[2]", y: "float[2]" -> real(complex(x, y) @ complex(y, x))',
        Verdict.DISAGREE,
    ),
    ("modulus-conjugate", "x, y -> abs(x) + abs(complex(x, 0.0))", Verdict.AGREE),
    ("modulus-conjugate", "x, y -> abs(complex(x, y))", Verdict.DISAGREE),
]


@pytest.mark.parametrize(("name", "text", "verdict"), SHOWN)
def test_what_a_planted_bug_needs(name: str, text: str, verdict: Verdict) -> None:
    header, _, expression = text.partition(" -> ")
    program = parse(f"def f({header}):\n    return {expression}\n")
    values = iter(np.array([0.375, -0.75, 1.25, 0.5]))
    point = Point(
        {
            p.name: np.array([next(values) for _ in np.ndindex(*p.type.sizes)]).reshape(p.type.sizes)
            for p in program.params
        }
    )
    question = weighted_question(program, [point], "float64", ("rev",))
    oracle = mutant(name)
    assert oracle is not None
    (case,) = evaluator().cases(oracle.name, question, oracle.answer(question))
    assert case.verdict is verdict, case.message


def first_finding(name: str, seed: int) -> Finding:
    for event in sweep(
        SweepConfig((f"mutant:{name}",), families=("complex",), seed=seed, max_examples=MAX_PROGRAMS, jobs=1)
    ):
        if isinstance(event, FindingFound):
            print(f"mutant:{name} seed {seed}: {event.finding.kind.value}\n{event.finding.program}")
            return event.finding
    pytest.fail(f"seed {seed}: {MAX_PROGRAMS} programs do not find mutant:{name}")


def check_small(finding: Finding) -> None:
    """At most one number, or one matrix of one, and a few ops."""
    assert all(n <= 2 for p in finding.program.params for n in p.type.sizes), str(finding.program)
    assert operations(finding.program) <= 8, str(finding.program)


@pytest.mark.slow
def test_found_and_shrunk() -> None:
    check_small(first_finding("conjugate-forgotten", 0))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), list(itertools.product(MUTANTS, range(10))))
def test_found_and_shrunk_for_more_seeds(name: str, seed: int) -> None:
    check_small(first_finding(name, seed))


def test_no_false_alarm_about_the_engine() -> None:
    events = list(sweep(SweepConfig(("engine",), families=("complex",), seed=3, max_examples=16, jobs=1)))
    assert not [e for e in events if isinstance(e, FindingFound)]
    (last,) = [e for e in events if isinstance(e, SweepFinished)]
    assert last.complete


@pytest.mark.slow
@pytest.mark.parametrize("column", [0, 2])
def test_the_engine_is_right_in_the_suite(column: int) -> None:
    """Every row, one matrix and a stack of them, by reverse mode; the others are printed by `gradfuzz probe
    engine --suite complex`.
    """
    (engine,) = [oracle for oracle in resolve("engine") if oracle.name == "engine"]
    for row in GRIDS["complex"].rows():
        for question in row.cells[column]:
            for case in evaluator().cases("engine", question, engine.answer(question)):
                assert case.verdict in (Verdict.AGREE, Verdict.CONVENTION), (row.op, row.use, case.message)

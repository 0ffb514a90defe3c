"""The family of complex programs: no false alarm about the engine, and planted bugs that are found and
shrunk.
"""

from __future__ import annotations

import itertools

import pytest

from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.results.events import FindingFound, SweepFinished
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.shrinking.shrink import operations
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.registry import resolve
from tests.planted_bugs import check_verdict, first_finding

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
    check_verdict(name, text, ("rev",), verdict)


def check_small(finding: Finding) -> None:
    """At most one number, or one matrix of one, and a few ops."""
    assert all(n <= 2 for p in finding.program.params for n in p.type.sizes), str(finding.program)
    assert operations(finding.program) <= 8, str(finding.program)


@pytest.mark.slow
def test_found_and_shrunk() -> None:
    check_small(first_finding("conjugate-forgotten", 0, MAX_PROGRAMS, families=("complex",), jobs=1))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), list(itertools.product(MUTANTS, range(10))))
def test_found_and_shrunk_for_more_seeds(name: str, seed: int) -> None:
    check_small(first_finding(name, seed, MAX_PROGRAMS, families=("complex",), jobs=1))


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

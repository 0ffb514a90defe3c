"""Sweeps of vectorized calls: the engine is right, the planted bugs of batching are found and shrunk to two
instances.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.shrinking.shrink import operations
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.language.program import names_in
from gradfuzz.strategies import FAMILIES, GeneratedCase, draw_many
from tests.quality.families import first_finding

MUTANTS = ("foreign-axis", "done-lane")
MAX_PROGRAMS = 100
CONFIG = SweepConfig(
    ("engine:vectorize", "engine:vmap"), families=("vectorize",), max_examples=12, orders=(1, 2)
)


def check_small(finding: Finding, most: int = 4) -> None:
    """Two instances, and so many operations at most: a loop that takes other trips for each of them needs
    some. Where the result depends on one axis alone, the other axis shows in a grid of two by two only.
    """
    more = re.search(r"Answered in one call with (\d+) more points?: ", finding.note)
    alone = len(names_in(finding.program) & {p.name for p in finding.program.params}) == 1
    assert more is not None
    assert int(more[1]) in ((1, 3) if alone else (1,)), finding.note
    assert operations(finding.program) <= most, str(finding.program)
    assert finding.reproduced == (5, 5)
    assert "points = [Point(" in finding.script


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_of_batching_is_found_and_shrunk(mutant: str, seed: int) -> None:
    finding, programs = first_finding(mutant, "vectorize", seed, MAX_PROGRAMS, orders=(1,))
    print(
        f"mutant:{mutant}: {finding.kind.value} within {programs} programs\n{finding.program}{finding.note}"
    )
    check_small(finding)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("more", range(1, 10))
def test_found_for_more_seeds(mutant: str, more: int) -> None:
    check_small(first_finding(mutant, "vectorize", more, MAX_PROGRAMS, orders=(1,))[0], most=10)


def test_a_mutant_is_right_about_one_instance() -> None:
    """The bugs are in batching: alone, every instance is answered rightly."""
    row = next(row for row in GRIDS["vectorize"].rows() if row.use == "while")
    (alone,) = row.cells[GRIDS["vectorize"].columns.index("batch 1")]
    differing, _ = row.cells[GRIDS["vectorize"].columns.index("trips differ")]
    for name in MUTANTS:
        (oracle,) = resolve(f"mutant:{name}")
        (case,) = evaluator().cases(oracle.name, alone, oracle.answer(alone))
        assert case.verdict is Verdict.AGREE
    (done_lane,) = resolve("mutant:done-lane")
    verdicts = {
        case.verdict for case in evaluator().cases(done_lane.name, differing, done_lane.answer(differing))
    }
    assert Verdict.DISAGREE in verdicts


def test_the_engine_is_right(seed: int) -> None:
    *_, end = sweep(dataclasses.replace(CONFIG, seed=seed))
    assert isinstance(end, SweepFinished)
    assert end.findings == ()
    for summary in end.summaries:
        assert summary.agree > 0.8 * summary.checks
        assert not summary.disagree + summary.crashed + summary.unsupported


@pytest.mark.slow
def test_the_grid_of_the_engine_has_no_wrong_cell() -> None:
    """The loops and a few ops; the whole is `gradfuzz probe engine --suite vectorize`."""
    for row in GRIDS["vectorize"].rows():
        if row.op not in ("loop", "solve", "scatter_add"):
            continue
        for question in (q for cell in row.cells for q in cell if q.order < 2):
            for oracle in (*resolve("engine:vectorize"), *resolve("engine:vmap")):
                for case in evaluator().cases(oracle.name, question, oracle.answer(question)):
                    assert case.verdict in (
                        Verdict.AGREE,
                        Verdict.CONVENTION,
                    ), f"{oracle.name} {row.use}: {case.message}"


def test_an_array_of_indices_is_run_as_it_is() -> None:
    """Whether trips differ is found out by running the program at every point."""
    program = parse(
        'def f(x: "float[2]", k: "int[2]"):\n    for i in range(1):\n        x = x + take_along_axis(x, k,'
        " axis=0)\n    return x\n"
    )
    points = tuple({"x": np.array([0.5, 1.0 + n]), "k": np.array([1, 0])} for n in range(2))
    case = GeneratedCase(program, points, ("x",), "float64")
    assert "trip count per instance" not in FAMILIES["vectorize"].reached(case)


def test_what_the_family_reaches(seed: int) -> None:
    family = FAMILIES["vectorize"]
    drawn = draw_many(family.cases(("float64", "float32")), 300, str(seed))
    reached = {goal for case in drawn for goal in family.reached(case)}
    assert reached == set(family.goals)

"""The family of tensor programs: no false alarm about the engine, no wrong cell in its status, and planted
bugs that are found and shrunk.
"""

from __future__ import annotations

import itertools

import pytest

from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.registry import resolve
from tests.planted_bugs import check_verdict, first_finding

MAX_PROGRAMS = 300
MUTANTS = (
    "take-overwrites",
    "cumulative-unflipped",
    "unbroadcast-axes",
    "forward-over-forward",
    "clip-squared",
)

REV: tuple[Mode, ...] = ("rev",)
FWD_FWD: tuple[Mode, ...] = ("fwd", "fwd")

SHOWN = [
    ("take-overwrites", 'x: "float[3]" -> take(x, array([0, 2]), axis=0)', REV, Verdict.AGREE),
    ("take-overwrites", 'x: "float[3]" -> take(x, array([0, 2, 0]), axis=0)', REV, Verdict.DISAGREE),
    (
        "take-overwrites",
        'x: "float[2, 2]" -> take(x, array([[1, 1], [0, 1]]), axis=1)',
        REV,
        Verdict.DISAGREE,
    ),
    ("cumulative-unflipped", 'x: "float[1]" -> cumulative_sum(x)', REV, Verdict.AGREE),
    ("cumulative-unflipped", 'x: "float[3]" -> cumulative_sum(x)', REV, Verdict.DISAGREE),
    ("unbroadcast-axes", 'x: "float[2]", y: "float[3, 2]" -> x * y', REV, Verdict.AGREE),
    ("unbroadcast-axes", 'x: "float[2]", y: "float[2, 2]" -> x * y', REV, Verdict.DISAGREE),
    ("unbroadcast-axes", 'x: "float[2, 2]", y: "float[2, 2]" -> x * y', REV, Verdict.AGREE),
    ("clip-squared", 'x: "float[2]" -> clip(x, 0.0, 1.0)', REV, Verdict.DISAGREE),
    ("clip-squared", 'x: "float[2]" -> minimum(maximum(x, 0.0), 1.0)', REV, Verdict.AGREE),
    ("clip-squared", 'x: "float[2]" -> clip(x, 0.0, 1.0)', ("fwd",), Verdict.AGREE),
    ("forward-over-forward", 'x: "float[2]" -> softmax(x)', ("fwd",), Verdict.AGREE),
    ("forward-over-forward", 'x: "float[2]" -> softmax(x)', ("fwd", "rev"), Verdict.AGREE),
    ("forward-over-forward", 'x: "float[2]" -> softmax(x)', FWD_FWD, Verdict.DISAGREE),
    ("forward-over-forward", 'x: "float[2]" -> tanh(x)', FWD_FWD, Verdict.DISAGREE),
]


@pytest.mark.parametrize(("name", "text", "modes", "verdict"), SHOWN)
def test_what_a_planted_bug_needs(name: str, text: str, modes: tuple[Mode, ...], verdict: Verdict) -> None:
    check_verdict(name, text, modes, verdict)


def check_small(finding: Finding) -> None:
    """No more than two axes, none longer than three."""
    for p in finding.program.params:
        assert len(p.type.shape) <= 2, str(finding.program)
        assert all(n <= 3 for n in p.type.sizes), str(finding.program)


@pytest.mark.slow
def test_found_and_shrunk() -> None:
    check_small(first_finding("take-overwrites", 5, MAX_PROGRAMS, families=("tensor",), jobs=1))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), list(itertools.product(MUTANTS, range(10))))
def test_found_and_shrunk_for_more_seeds(name: str, seed: int) -> None:
    check_small(first_finding(name, seed, MAX_PROGRAMS, families=("tensor",), jobs=1))


def test_a_sweep_says_nothing_wrong_about_the_engine(seed: int) -> None:
    (*_, end) = sweep(SweepConfig(("engine",), families=("tensor",), seed=seed, max_examples=24))
    assert isinstance(end, SweepFinished)
    assert end.findings == ()
    (summary,) = end.summaries
    assert summary.checks > 60
    assert summary.crashed == 0


def test_the_status_of_the_engine_has_no_wrong_cell() -> None:
    """A part of the grid; the whole is `gradfuzz probe engine --suite tensor`."""
    grid = GRIDS["tensor"]
    rows = {row.op: row for row in grid.rows()}
    (engine,) = [oracle for oracle in resolve("engine") if oracle.name == "engine"]
    for op in ("mean", "scatter_add", "window_sum", "clip"):
        assert len(rows[op].cells) == len(grid.columns)
        for cell in rows[op].cells:
            for question in cell:
                for case in evaluator().cases("engine", question, engine.answer(question)):
                    assert case.verdict in (Verdict.AGREE, Verdict.CONVENTION), (
                        f"{op} {question.modes}: {case.message}"
                    )


def test_the_grid_asks_about_broadcasting_where_there_are_two_operands() -> None:
    grid = GRIDS["tensor"]
    column = grid.columns.index("broadcast")
    asked = {row.op for row in grid.rows() if row.cells[column]}
    assert {"add", "multiply", "where", "maximum", "clip", "pow"} <= asked
    assert not asked & {"sum", "sort", "take", "conv"}

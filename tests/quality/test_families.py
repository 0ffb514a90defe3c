"""The families of complex and of tensor programs: no false alarm about the engine, no wrong cell in its
status, and planted bugs that are found and shrunk.
"""

from __future__ import annotations

import itertools

import pytest

from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.shrinking.shrink import operations
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Mode, Question
from gradfuzz.oracles.registry import resolve
from tests.quality.families import answered, asked, first_finding

MUTANTS = {
    "complex": ("conjugate-forgotten", "adjoint-transposed", "modulus-conjugate"),
    "tensor": (
        "take-overwrites",
        "cumulative-unflipped",
        "unbroadcast-axes",
        "forward-over-forward",
        "clip-squared",
    ),
}

REV: tuple[Mode, ...] = ("rev",)
FWD_FWD: tuple[Mode, ...] = ("fwd", "fwd")

SHOWN = [
    ("conjugate-forgotten", "x, y -> x * y", REV, Verdict.AGREE),
    ("conjugate-forgotten", "x, y -> imag(complex(x, y) * complex(0.5, 0.0))", REV, Verdict.AGREE),
    ("conjugate-forgotten", "x, y -> imag(complex(x, y) * complex(0.5, 1.0))", REV, Verdict.DISAGREE),
    ("adjoint-transposed", 'x: "float[2]", y: "float[2]" -> x @ y', REV, Verdict.AGREE),
    (
        "adjoint-transposed",
        'x: "float[2]", y: "float[2]" -> real(complex(x, y) @ complex(y, x))',
        REV,
        Verdict.DISAGREE,
    ),
    ("modulus-conjugate", "x, y -> abs(x) + abs(complex(x, 0.0))", REV, Verdict.AGREE),
    ("modulus-conjugate", "x, y -> abs(complex(x, y))", REV, Verdict.DISAGREE),
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
    case = answered(name, asked(text, modes))
    assert case.verdict is verdict, case.message


def check_small(family: str, finding: Finding) -> None:
    """Of complex numbers at most one, or one matrix, and a few ops; of tensors no more than two axes, none
    longer than three.
    """
    longest = 2 if family == "complex" else 3
    assert all(n <= longest for p in finding.program.params for n in p.type.sizes), str(finding.program)
    if family == "complex":
        assert operations(finding.program) <= 8, str(finding.program)
    else:
        assert all(len(p.type.shape) <= 2 for p in finding.program.params), str(finding.program)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "name", "seed"), [("complex", "conjugate-forgotten", 0), ("tensor", "take-overwrites", 5)]
)
def test_found_and_shrunk(family: str, name: str, seed: int) -> None:
    check_small(family, first_finding(name, family, seed, jobs=1)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "name", "seed"),
    [
        (family, name, seed)
        for family, names in MUTANTS.items()
        for name, seed in itertools.product(names, range(10))
    ],
)
def test_found_and_shrunk_for_more_seeds(family: str, name: str, seed: int) -> None:
    check_small(family, first_finding(name, family, seed, jobs=1)[0])


@pytest.mark.parametrize(("family", "programs"), [("complex", 16), ("tensor", 24)])
def test_a_sweep_says_nothing_wrong_about_the_engine(family: str, programs: int, seed: int) -> None:
    (*_, end) = sweep(SweepConfig(("engine",), families=(family,), seed=seed, max_examples=programs))
    assert isinstance(end, SweepFinished)
    assert end.complete
    assert end.findings == ()
    (summary,) = end.summaries
    assert summary.checks > 2.5 * programs
    assert summary.crashed == 0


def check_right(question: Question) -> None:
    (engine,) = [oracle for oracle in resolve("engine") if oracle.name == "engine"]
    for case in evaluator().cases("engine", question, engine.answer(question)):
        assert case.verdict in (Verdict.AGREE, Verdict.CONVENTION), f"{question.program}\n{case.message}"


@pytest.mark.slow
@pytest.mark.parametrize("column", [0, 2])
def test_the_engine_is_right_about_complex_programs(column: int) -> None:
    """Every row, one matrix and a stack of them, by reverse mode; the others are printed by `gradfuzz probe
    engine --suite complex`.
    """
    for row in GRIDS["complex"].rows():
        for question in row.cells[column]:
            check_right(question)


def test_the_status_of_the_engine_has_no_wrong_cell() -> None:
    """A part of the grid; the whole is `gradfuzz probe engine --suite tensor`."""
    grid = GRIDS["tensor"]
    rows = {row.op: row for row in grid.rows()}
    for op in ("mean", "scatter_add", "window_sum", "clip"):
        assert len(rows[op].cells) == len(grid.columns)
        for question in itertools.chain(*rows[op].cells):
            check_right(question)


def test_the_grid_asks_about_broadcasting_where_there_are_two_operands() -> None:
    grid = GRIDS["tensor"]
    column = grid.columns.index("broadcast")
    asked = {row.op for row in grid.rows() if row.cells[column]}
    assert {"add", "multiply", "where", "maximum", "clip", "pow"} <= asked
    assert not asked & {"sum", "sort", "take", "conv"}

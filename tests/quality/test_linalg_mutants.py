"""The planted bugs in linear algebra: right for one matrix, wrong for several, found by a sweep, and shrunk
to the smallest stack that shows them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import questions, weighted_question
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.sweep.batch import WorkItem, drawn
from gradfuzz.oracles.base import Oracle, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.registry import mutant
from gradfuzz.strategies.drawing.dice import Plain
from gradfuzz.strategies.linalg.program import compose, point_of
from gradfuzz.strategies.linalg.recipes import RECIPES
from tests.quality.families import answered, first_finding

BATCHED = {
    "qr-batch": "qr",
    "cholesky-batch": "cholesky",
    "lu-batch": "lu",
    "svd-batch": "svd",
    "triangular-solve-batch": "triangular_solve",
    "inv-batch": "inv",
    "solve-batch": "solve",
    "det-batch": "det",
    "pinv-batch": "pinv",
    "norm-batch": "matrix_norm",
}
OTHERS = (
    "svd-shape",
    "cholesky-eye",
    "unbroadcast-forgotten",
    "broadcast-mean",
    "eigh-diagonal",
    "singular-det",
    "solve-in-loop",
)
SWEPT = (*BATCHED, *OTHERS)
MAX_PROGRAMS = 300


def verdict(name: str, op: str, batch: tuple[int, ...], side: int, second: str | None = None) -> Verdict:
    recipe = next(r for r in RECIPES if r.op == op and second in (None, r.second))
    program = compose(Plain(), recipe, batch, (side, side))
    question = weighted_question(
        program.program, [Point(point_of(Plain(), program, "float64"))], "float64", ("rev",)
    )
    return answered(name, question).verdict


@pytest.mark.parametrize(("name", "op"), BATCHED.items())
def test_a_batch_bug_shows_in_a_batch_only(name: str, op: str) -> None:
    assert verdict(name, op, (), 4) is Verdict.AGREE
    assert verdict(name, op, (1,), 4) is Verdict.AGREE
    assert verdict(name, op, (2,), 4) is Verdict.DISAGREE


def test_the_determinant_bug_needs_four_rows() -> None:
    assert verdict("det-batch", "det", (2,), 3) is Verdict.AGREE


def test_a_matched_shape_is_an_error_in_any_batch() -> None:
    assert verdict("svd-shape", "svd", (), 3) is Verdict.AGREE
    assert verdict("svd-shape", "svd", (1,), 3) is Verdict.CRASHED


def test_the_wrong_identity_is_right_where_there_are_as_many_instances_as_rows() -> None:
    assert verdict("cholesky-eye", "cholesky", (), 3) is Verdict.AGREE
    assert verdict("cholesky-eye", "cholesky", (1,), 3) is Verdict.DISAGREE
    assert verdict("cholesky-eye", "cholesky", (3,), 3) is Verdict.AGREE
    assert verdict("cholesky-eye", "cholesky", (2,), 3) is Verdict.CRASHED


@pytest.mark.parametrize("op", ["matmul", "solve"])
def test_a_forgotten_sum_shows_where_the_right_side_lacks_a_batch_axis(op: str) -> None:
    assert verdict("unbroadcast-forgotten", op, (2,), 2, "matrix") is Verdict.AGREE
    assert verdict("unbroadcast-forgotten", op, (2,), 2, "broadcast") is Verdict.DISAGREE


def shows(oracle: Oracle, question: Question) -> bool:
    """Whether an answer is an error, or off by more than a thousandth of the largest entry of the engine's
    gradient.
    """
    for right, wrong in zip(EngineOracle().answer(question), oracle.answer(question), strict=True):
        if right.status != "ok" or wrong.status != "ok":
            return right.status == "ok"
        for name, g in right.gradient.items():
            h, most = wrong.gradient[name], np.abs(g).max(initial=0.0)
            if np.shape(g) != np.shape(h) or (np.isfinite(most) and not np.all(np.abs(g - h) <= 1e-3 * most)):
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_draws_of_a_sweep_bring_every_bug_out(seed: int) -> None:
    """Without references, so that many seeds cost little."""
    hidden = {name: mutant(name) for name in (*BATCHED, *OTHERS) if name != "broadcast-mean"}
    for index, case in enumerate(drawn(WorkItem(1, 0, MAX_PROGRAMS, "linalg", seed, ()))):
        question, *_ = questions(case, index, seed, orders=(1,), checks=("vjp",))
        hidden = {
            name: oracle
            for name, oracle in hidden.items()
            if oracle is not None and not shows(oracle, question)
        }
    assert not hidden


def check_small(name: str, finding: Finding) -> None:
    """A batch and matrices no larger than the bug needs."""
    batch, side = 2, 4 if name == "det-batch" else 2
    if name == "singular-det" and len(finding.modes) == 3:
        side = 3  # the third derivative of a determinant of 2x2 is 0: another number there is another class
    for p in finding.program.params:
        sizes = [n or 0 for n in p.type.shape]
        largest = max(sizes[:-2], default=1), max(sizes[-2:], default=1)
        if name == "cholesky-eye":  # it raises only where the batch is neither 1 nor as long as the matrices
            fewer, more = sorted(largest)
            assert (fewer <= 2, more <= 3) == (True, True), str(finding.program)
        else:
            assert largest[0] <= batch, str(finding.program)
            assert largest[1] <= side, str(finding.program)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cholesky-eye", "eigh-diagonal"])
def test_found_and_shrunk(name: str) -> None:
    check_small(name, first_finding(name, "linalg", 0)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), list(itertools.product(SWEPT, range(10))))
def test_found_and_shrunk_for_more_seeds(name: str, seed: int) -> None:
    check_small(name, first_finding(name, "linalg", seed)[0])

"""The rules of linear algebra: against the references, against each other, and batched against one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine.rules.linalg import JVP, VJP, VJP_SEVERAL
from gradfuzz.engine.rules.value import apply
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Mode, Point
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse, to_text
from gradfuzz.programs.language.precision import Precision
from tests.unit.engine.matrix_cases import BATCHES, CASES, INTERNAL, Case, draw, of_instances


def program_of(op: str, params: dict[str, Any], shapes: list[tuple[int, ...]]) -> Any:
    names = "abc"[: len(shapes)]
    header = ", ".join(f'{name}: "float{list(shape)}"' for name, shape in zip(names, shapes, strict=True))
    options = {k: v for k, v in params.items() if k != "part"}
    call = f"{op}({', '.join([*names, *(f'{k}={v!r}' for k, v in options.items())])})"
    return parse(f"def f({header}):\n    return {call}{'' if 'part' not in params else [params['part']]}\n")


def test_every_op_is_a_case() -> None:
    """But for those with complex results, which are in `test_engine_complex_linalg`."""
    assert {c[0] for c in (*CASES, *INTERNAL)} | {"eig", "eigvals"} == {*VJP, *VJP_SEVERAL} == set(JVP)


ORDERS = [
    pytest.param(
        c, k, order, id=f"{c[0]}-{k}-{order}", marks=[pytest.mark.slow] * (order == 2 and k % 4 != 0)
    )
    for order in (1, 2)
    for k, c in enumerate(CASES)
]
"""Of the second order, a quarter each time; the rest takes longer."""


@pytest.mark.parametrize(("case", "number", "order"), ORDERS)
def test_the_references_agree(case: Case, number: int, order: int, seed: int) -> None:
    """Every mix of modes; the batch and the precision change from case to case. Where rounding is all there
    is to see, nobody is judged.
    """
    op, params, kinds = case
    rng = np.random.default_rng([seed, number])
    batch = BATCHES[:3][number % 3]
    inputs = [draw(kind, batch, rng) for kind in kinds]
    program = program_of(op, params, [x.shape for x in inputs])
    precision: Precision = "float32" if number % 2 else "float64"
    evaluator, oracle = Evaluator(), EngineOracle()
    point = Point({name: np.asarray(x, precision) for name, x in zip("abc", inputs, strict=False)})
    modes: tuple[Mode, ...]
    for modes in itertools.product(("rev", "fwd"), repeat=order):
        question = weighted_question(program, [point], precision, modes)
        (found,) = evaluator.cases("engine", question, oracle.answer(question))
        if found.reason not in (Reason.NOISE, Reason.PRIMAL):
            assert found.verdict is Verdict.AGREE, (modes, found.message, to_text(program), inputs)


@pytest.mark.parametrize(("case", "number"), of_instances(CASES))
def test_a_batch_is_its_instances(case: Case, number: int, seed: int) -> None:
    """Each instance's gradient, first and second, as if it were alone, to 1e-12 of the greatest entry: LAPACK
    sees the same matrices.
    """
    op, params, kinds = case
    rng = np.random.default_rng([seed, number])

    def loss(*xs: Any) -> Any:
        return engine.sum(engine.sin(apply(op, *xs, **params)))

    def slope(*xs: Any) -> Any:
        return engine.sum(engine.sin(engine.grad(loss)(*xs)))

    args = [draw(kind, (2, 3), rng) for kind in kinds]
    for function in (engine.grad(loss), engine.grad(slope)):
        whole = function(*args)
        for place in np.ndindex(2, 3):
            alone = function(*[x[place] for x in args])
            assert np.abs(whole[place] - alone).max() <= 1e-12 * max(np.abs(alone).max(), 1.0)


@pytest.mark.parametrize(
    ("op", "kinds"),
    [("solve", ("s3,3", "m3,2")), ("triangular_solve", ("s3,3", "m3,2")), ("kron", ("m2,3", "m1,2"))],
)
def test_operands_broadcast(op: str, kinds: tuple[str, str], seed: int) -> None:
    """The gradient of an operand that was repeated is the sum of the gradients of its copies."""
    rng = np.random.default_rng(seed)
    for first, second in (((2, 1), (3,)), ((3,), (2, 1)), ((), (2, 3)), ((1,), (2,))):
        a, b = draw(kinds[0], first, rng), draw(kinds[1], second, rng)
        batch = np.broadcast_shapes(first, second)
        copies = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)]

        def loss(x: Any, y: Any) -> Any:
            return engine.sum(engine.sin(apply(op, x, y)))

        for x, part, many in zip(
            (a, b), engine.grad(loss, (0, 1))(a, b), engine.grad(loss, (0, 1))(*copies), strict=True
        ):
            assert part.shape == x.shape
            extra = len(batch) - (x.ndim - 2)
            grown = tuple(k for k in range(len(batch)) if k < extra or x.shape[k - extra] != batch[k])
            assert np.allclose(part, many.sum(grown).reshape(x.shape), rtol=1e-12, atol=1e-12)


def test_gradients_have_the_structure_of_their_argument(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = draw("p3,3", (2,), rng), draw("m3,2", (2,), rng)
    for f in (engine.linalg.cholesky, engine.linalg.eigvalsh, lambda x: engine.linalg.eigh(x)[1]):
        g = engine.grad(lambda x, f=f: engine.sum(engine.sin(f(x))))(a + np.arange(9).reshape(3, 3) / 8)
        assert np.allclose(g, np.swapaxes(g, -1, -2), rtol=0, atol=1e-14)
    for lower, unit in itertools.product((True, False), repeat=2):

        def loss(x: Any, lower: bool = lower, unit: bool = unit) -> Any:
            return engine.sum(engine.linalg.triangular_solve(x, b, lower=lower, unit_diagonal=unit))

        g = engine.grad(loss)(a)
        read = np.tril(np.ones((3, 3)), -1 if unit else 0)
        assert np.array_equal(g != 0, np.broadcast_to(read if lower else read.T, g.shape) != 0)


def test_what_lapack_cannot_do_is_nan_for_that_matrix_alone() -> None:
    a = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]])
    for f in (engine.linalg.inv, lambda x: engine.linalg.solve(x, np.ones((2, 1)))):
        g = engine.grad(lambda x, f=f: engine.sum(f(x)))(a)
        assert np.isnan(g[0]).all()
        assert np.isfinite(g[1]).all()
    g = engine.grad(lambda x: engine.sum(engine.linalg.cholesky(x)))(a - np.eye(2) / 2)
    assert np.isnan(g[0]).all()


def test_the_functions_are_the_ops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, tall, b = draw("p3,3", (), rng), draw("m4,3", (), rng), draw("m3,2", (), rng)
    lin = engine.linalg
    for f, g, x in (
        (lin.qr, np.linalg.qr, tall),
        (lin.eigh, np.linalg.eigh, a),
        (lin.svd, lambda y: np.linalg.svd(y, full_matrices=False), tall),
        (lin.slogdet, np.linalg.slogdet, a),
    ):
        for mine, theirs in zip(f(x), g(x), strict=True):
            assert np.array_equal(mine, theirs)
    p, lower, upper = lin.lu(tall)
    assert np.allclose(p @ lower @ upper, tall)
    for mine, theirs in (
        (lin.cholesky(a), np.linalg.cholesky(a)),
        (lin.solve(a, b), np.linalg.solve(a, b)),
        (lin.det(a), np.linalg.det(a)),
        (lin.inv(a), np.linalg.inv(a)),
        (lin.einsum("ij,jk->ik", tall, a), tall @ a),
        (lin.matrix_power(a, -2), np.linalg.matrix_power(a, -2)),
        (lin.matrix_norm(a, ord="nuc"), np.linalg.norm(a, "nuc")),
        (lin.vector_norm(b, ord=3, axis=0), np.linalg.norm(b, 3, axis=0)),
        (lin.trace(a), np.trace(a)),
        (lin.outer(a[0], a[1]), np.outer(a[0], a[1])),
        (lin.kron(a, b), np.kron(a, b)),
        (lin.svdvals(tall), np.linalg.svd(tall, compute_uv=False)),
        (lin.eigvalsh(a), np.linalg.eigvalsh(a)),
        (lin.pinv(tall), np.linalg.pinv(tall)),
        (lin.lstsq(tall, tall), np.eye(3)),
        (lin.expm(0 * a), np.eye(3)),
        (lin.diagonal(tall, offset=1), np.diagonal(tall, 1)),
        (lin.tril(a, k=-1) + lin.triu(a), a),
        (lin.triangular_solve(a, b), np.linalg.solve(np.tril(a), b)),
    ):
        assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-12)

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

BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (2,), (2, 3), (0,))
# An op, its parameters, and its arguments: the shape of the matrix, with a letter in front. "s" square and
# far from singular, "p" positive definite, "m" any, "v" a vector, "u" one without batch axes.
Case = tuple[str, dict[str, Any], tuple[str, ...]]

CASES: list[Case] = [
    *[("trace", {"offset": k}, ("m3,4",)) for k in (0, 1, -1)],
    *[("diagonal", {"offset": k}, ("m4,3",)) for k in (0, 2, -1)],
    *[(op, {"k": k}, ("m3,4",)) for op in ("tril", "triu") for k in (0, -1)],
    ("outer", {}, ("u3", "u2")),
    ("kron", {}, ("m2,3", "m3,2")),
    ("kron", {}, ("u2,1", "m2,2")),
    *[
        ("einsum", {"subscripts": s}, x)
        for s, x in {"ii->i": ("u3,3",), "ii->": ("u3,3",), "ij,jk->ik": ("u3,2", "u2,4")}.items()
    ],
    ("einsum", {"subscripts": "bij,bjk->bik"}, ("u2,3,2", "u2,2,4")),
    ("einsum", {"subscripts": "iaii,aj->ij"}, ("u2,3,2,2", "u3,2")),
    ("einsum", {"subscripts": "ij,k->j"}, ("u3,2", "u2")),
    ("solve", {}, ("s3,3", "m3,2")),
    ("solve", {}, ("s3,3", "u3,2")),
    ("solve", {}, ("u3,3", "m3,2")),
    ("solve", {}, ("s3,3", "u3")),
    *[
        (
            "triangular_solve",
            {"lower": low, "transposed": t, "unit_diagonal": unit, "left": left},
            ("s3,3", "m3,2" if left else "m2,3"),
        )
        for low, t, unit, left in itertools.product((True, False), repeat=4)
    ],
    ("triangular_solve", {}, ("s3,3", "u3,2")),
    ("inv", {}, ("s3,3",)),
    *[("det", {}, (f"s{n},{n}",)) for n in (1, 2, 3, 4)],
    ("slogdet", {"part": 1}, ("s3,3",)),
    *[("cholesky", {"upper": u}, ("p3,3",)) for u in (False, True)],
    *[
        ("qr", {"part": k, "mode": "reduced"}, (x,))
        for k in (0, 1)
        for x in ("m3,3", "m4,2", "m2,4", "m1,3", "m3,1")
    ],
    *[("qr", {"part": k, "mode": "complete"}, (x,)) for k in (0, 1) for x in ("m3,3", "m3,2", "m2,3")],
    ("qr", {"part": 1, "mode": "complete"}, ("m4,2",)),
    *[("lu", {"part": k}, (x,)) for k in (1, 2) for x in ("m3,3", "m4,2", "m2,4")],
    *[
        ("svd", {"part": k, "full_matrices": False}, (x,))
        for k in (0, 1, 2)
        for x in ("m3,3", "m4,2", "m2,4")
    ],
    *[("svd", {"part": k, "full_matrices": True}, (x,)) for k in (0, 1, 2) for x in ("m3,2", "m2,3")],
    *[("svd", {"part": 1, "full_matrices": True}, ("m4,2",))],
    *[("svdvals", {}, (x,)) for x in ("m3,3", "m2,4")],
    *[("eigh", {"part": k}, ("m3,3",)) for k in (0, 1)],
    ("eigvalsh", {}, ("m4,4",)),
    *[("pinv", {}, (x,)) for x in ("s3,3", "m4,2", "m2,4")],
    *[("lstsq", {}, x) for x in (("s3,3", "m3,2"), ("m4,2", "m4,2"), ("m2,4", "u2,1"), ("m4,2", "u4"))],
    *[("matrix_norm", {"ord": o}, ("m3,2",)) for o in ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")],
    ("matrix_norm", {"ord": "fro", "keepdims": True}, ("m3,2",)),
    *[("vector_norm", {"ord": o, "axis": -1}, ("m3,2",)) for o in (0, 1, 2, 3, 4, -1, -2, "inf", "-inf")],
    ("vector_norm", {"ord": 3, "axis": None, "keepdims": True}, ("m3,2",)),
    *[("matrix_power", {"n": n}, ("s3,3",)) for n in (0, 1, 2, 3, 6, -1, -3)],
    ("expm", {}, ("m3,3",)),
]

INTERNAL: list[Case] = [
    ("cofactor", {}, ("s3,3",)),
    ("cofactor", {}, ("s3,3", "m3,3")),
    ("cofactor", {}, ("s4,4", "m4,4", "m4,4")),
    ("divide_by_gaps", {"hollow": False}, ("m3,2", "m3", "m2")),
    ("divide_by_gaps", {"hollow": True}, ("m3,3", "m3", "m3")),
]


def draw(kind: str, batch: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Numbers from 1/4 to 3/2 in size, of either sign, which float32 holds."""
    shape = tuple(int(n) for n in kind[1:].split(","))
    full = (*(() if kind[0] == "u" else batch), *shape)
    x = (rng.uniform(0.25, 1.5, full) * rng.choice([-1, 1], full)).astype(np.float32).astype(np.float64)
    if kind[0] == "p":
        x = x @ np.swapaxes(x, -1, -2)
    square = len(shape) == 2 and shape[0] == shape[1]
    return x + np.diag(np.arange(shape[-1]) / 2 + 3) if square and kind[0] != "m" else x


def named(cases: list[Case]) -> list[Any]:
    return [pytest.param(c, k, id=f"{c[0]}-{k}") for k, c in enumerate(cases)]


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


@pytest.mark.parametrize(("case", "number"), named([*CASES, *INTERNAL]))
def test_forward_and_reverse_are_transposes(case: Case, number: int, seed: int) -> None:
    """<J v, u> = <v, J^T u> in every batch, to 1e-10 of the terms: condition numbers up to 1e3 times a few
    hundred roundings.
    """
    op, params, kinds = case
    rng = np.random.default_rng([seed, number])
    for batch in BATCHES:
        args = [draw(kind, batch, rng) for kind in kinds]
        value, pullback = engine.vjp(lambda *xs: apply(op, *xs, **params), *args)
        v = [rng.choice([-1.5, 0.75, 1.25], np.shape(x)) for x in args]
        u = rng.choice([-0.75, 0.5, 1.5], np.shape(value))
        tangent = engine.jvp(lambda *xs: apply(op, *xs, **params), args, v)[1]
        parts = pullback(u)
        assert [np.shape(p) for p in parts] == [np.shape(x) for x in args]
        assert np.shape(tangent) == np.shape(value)
        forth, back = np.sum(tangent * u), sum(np.sum(p * t) for p, t in zip(parts, v, strict=True))
        size = np.sum(np.abs(tangent * u)) + sum(np.sum(np.abs(p * t)) for p, t in zip(parts, v, strict=True))
        assert abs(forth - back) <= 1e-10 * size, (batch, args)


@pytest.mark.parametrize(("case", "number"), named([c for c in CASES if all(k[0] != "u" for k in c[2])]))
def test_a_batch_is_its_instances(case: Case, number: int, seed: int) -> None:
    """Each instance's gradient, first and second, as if it were alone, to 1e-12 of the greatest entry: LAPACK
    sees the same matrices.
    """
    op, params, kinds = case
    if op == "vector_norm" and params["axis"] is None:
        pytest.skip("over all axes, batch axes included")
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

"""A decomposition is free in signs and phases, in rotations among equal values and in the order of
eigenvalues: no choice of these is a finding.

The oracle here is the engine with a choice of its own: what LAPACK returns is turned at random before the
derivative sees it.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import Rules, derivative
from gradfuzz.engine.modes.prune import prune
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.fuzzer.questions.weighted import questions, weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Mode, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import evaluate, interpret
from gradfuzz.programs.graphs.graph import Equation, Graph
from gradfuzz.strategies import GeneratedCase, draw_many, linalg_cases, matrices
from gradfuzz.strategies.complex.program import complex_cases

OPS = ("qr", "svd", "eigh", "svdvals", "eigvalsh", "pinv", "lstsq", "matrix_norm")
"""Those whose derivatives are written with a decomposition that is free in something."""
COMPLEX_OPS = (*OPS, "eig", "eigvals")
EIGENVALUES = re.compile(r"\beig")
PARAMS: dict[str, dict[str, Any]] = {"qr": {"mode": "reduced"}, "svd": {"full_matrices": False}}
TURNS = 10
"""So many choices for each program."""
UNITS = 64.0
"""Values nearer to each other, in terms of the roundoff of the largest, count as equal."""


def phases(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Signs, or of a complex dtype any numbers of modulus 1."""
    if np.dtype(dtype).kind != "c":
        return rng.choice(np.array([-1, 1], dtype), shape)
    return np.exp(2j * np.pi * rng.random(shape)).astype(dtype)


def groups(values: Any) -> list[list[int]]:
    """The places of values that are equal to within rounding, wherever they stand."""
    near = UNITS * np.finfo(values.dtype).eps * np.abs(values).max(initial=0.0)
    result: list[list[int]] = []
    for k, value in enumerate(values):
        home = next((group for group in result if any(abs(value - values[j]) <= near for j in group)), None)
        if home is None:
            result.append([k])
        else:
            home.append(k)
    return result


class Turned(NumpyNamespace):
    """NumPy with other signs or phases, other vectors of equal values, and with `permuted` other orders of
    eigenvalues.

    The same matrix is always turned in the same way, as the results of one decomposition belong together.
    """

    def __init__(self, precision: Any, turn: int, *, permuted: bool = False) -> None:
        super().__init__(precision)
        self.turn, self.permuted = turn, permuted

    def rng(self, x: Any) -> np.random.Generator:
        return np.random.default_rng([self.turn, zlib.crc32(np.ascontiguousarray(x).tobytes())])

    def qr(self, x: Any, *, mode: Any) -> Any:
        q, r = super().qr(x, mode=mode)
        s = phases(self.rng(x), q.dtype, (*q.shape[:-2], 1, q.shape[-1]))
        return q * s, np.conj(np.swapaxes(s, -1, -2)) * r

    def svd(self, x: Any, *, full_matrices: bool) -> Any:
        u, s, vh = super().svd(x, full_matrices=full_matrices)
        k = s.shape[-1]
        turns = self.rotations(x, s, u.dtype)
        u, vh = u.copy(), vh.copy()
        u[..., :k] = u[..., :k] @ turns
        vh[..., :k, :] = np.conj(np.swapaxes(turns, -1, -2)) @ vh[..., :k, :]
        return u, s, vh

    def eigh(self, x: Any) -> Any:
        w, v = super().eigh(x)
        return self.reordered(w, v @ self.rotations(x, w, v.dtype))

    def eigvalsh(self, x: Any) -> Any:
        w = super().eigvalsh(x)
        return np.take_along_axis(w, self.order(w), -1)

    def eig(self, x: Any) -> Any:
        w, v = super().eig(x)
        v = v @ self.rotations(x, w, v.dtype)
        return self.reordered(w, v / np.linalg.norm(v, axis=-2, keepdims=True))

    def eigvals(self, x: Any) -> Any:
        w = super().eigvals(x)
        return np.take_along_axis(w, self.order(w), -1)

    def reordered(self, w: Any, v: Any) -> Any:
        order = self.order(w)
        return np.take_along_axis(w, order, -1), np.take_along_axis(v, order[..., np.newaxis, :], -1)

    def order(self, w: Any) -> Any:
        """The same for the values alone and with their vectors."""
        order = np.broadcast_to(np.arange(w.shape[-1]), w.shape)
        return self.rng(w.shape).permuted(order, axis=-1) if self.permuted else order

    def rotations(self, x: Any, values: Any, dtype: Any) -> Any:
        """Orthogonal or unitary matrices that mix what belongs to equal values, and turn the rest by signs or
        phases.
        """
        rng = self.rng(x)
        n = values.shape[-1]
        result = np.zeros((*values.shape, n), dtype)
        for place in np.ndindex(*values.shape[:-1]):
            for group in groups(values[place]):
                size = (len(group),) * 2
                mixing = rng.normal(size=size) + (
                    1j * rng.normal(size=size) if result.dtype.kind == "c" else 0.0
                )
                result[place][np.ix_(group, group)] = np.linalg.qr(mixing)[0] * phases(
                    rng, dtype, (len(group),)
                )
        return result


def answers(question: Question, graph: Graph, namespace: NumpyNamespace) -> list[Answer]:
    """What the engine says by its derivative `graph`."""
    dtype = np.dtype(question.precision)
    extra = [w for w in question.weights if w is not None]
    extra += [question.directions[n] for n in question.wrt] if question.order > 1 else []
    found = []
    for point in question.points:
        inputs = [point.inputs[p.name] for p in question.program.params]
        with np.errstate(all="ignore"):
            results = evaluate(graph, [np.asarray(x, dtype)[()] for x in (*inputs, *extra)], namespace)
        count = len(question.weights)
        gradient = dict(zip(question.wrt, map(np.asarray, results[count:]), strict=True))
        found.append(Answer("ok", tuple(map(np.asarray, results[:count])), gradient))
    return found


def same_values(question: Question, namespace: NumpyNamespace) -> bool:
    """Whether the outputs are what they are in the usual order of the eigenvalues, to rounding."""
    usual, near = NumpyNamespace(question.precision), UNITS * np.finfo(question.precision).eps
    for point in question.points:
        pairs = zip(
            *(interpret(question.program, point.inputs, ns) for ns in (usual, namespace)), strict=True
        )
        with np.errstate(all="ignore"):
            if not all(np.all(np.abs(a - b) <= near * np.abs(a).max(initial=0.0)) for a, b in pairs):
                return False
    return True


def judged(cases: list[GeneratedCase], seed: int) -> list[CheckResult]:
    """Every variation of every program, in first and in second order in turn."""
    evaluator, result = Evaluator(), []
    permuted_at_all = 0
    for index, drawn in enumerate(cases):
        question, *_ = questions(drawn, index, seed, orders=(1 + index % 2,))
        graph = prune(derivative(question.program, wrt=question.wrt, modes=question.modes))
        text = to_text(question.program)
        for turn in range(TURNS):
            choice = 1000 * index + turn
            other = Turned(question.precision, choice, permuted=True)
            permuted = (
                bool(turn % 2) and EIGENVALUES.search(text) is not None and same_values(question, other)
            )
            given = answers(question, graph, other if permuted else Turned(question.precision, choice))
            permuted_at_all += permuted
            result += evaluator.cases("engine:turned", question, given)
    assert permuted_at_all
    return result


def check(cases: list[GeneratedCase], seed: int) -> None:
    found = judged(cases, seed)
    counts = Counter(c.verdict.value if c.reason is None else c.reason.value for c in found)
    print(f"{len(cases)} programs, {len(cases) * TURNS} variations, {len(found)} checks: {dict(counts)}")
    for case in found:
        assert not case.verdict.is_wrong, (
            f"{case.kind} {case.message} expected {case.expected} got {case.got} at {case.point.inputs},"
            f" modes {case.question.modes} {case.question.precision} wrt"
            f" {case.question.wrt}\n{case.question.program}"
        )
    assert sum(c.verdict is Verdict.AGREE for c in found) > 0.8 * len(found)


def real_cases(programs: int, seed: int) -> list[GeneratedCase]:
    return draw_many(linalg_cases(ops=OPS, max_side=4, empty=False), programs, seed)


def complex_ones(programs: int, seed: int) -> list[GeneratedCase]:
    """Those with entries."""
    drawn = draw_many(complex_cases(ops=COMPLEX_OPS, max_side=3), 2 * programs, seed)
    return [case for case in drawn if all(0 not in p.type.sizes for p in case.program.params)][:programs]


def test_the_choice_is_another_one(seed: int) -> None:
    """Signs, vectors and orders do change, and what they multiply to does not."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3, 4, 4))
    s = np.eye(4) * 2.0 + np.ones((4, 4))
    usual = NumpyNamespace("float64")
    other = Turned("float64", 1)
    for op, x, compose in (
        ("qr", a, lambda q, r: q @ r),
        ("svd", a, lambda u, s, vh: (u * s[..., np.newaxis, :]) @ vh),
        ("eigh", s, lambda w, v: (v * w) @ v.T),
    ):
        params = PARAMS.get(op, {})
        old, new = getattr(usual, op)(x, **params), getattr(other, op)(x, **params)
        assert np.allclose(compose(*new), x, atol=1e-13)
        assert not np.allclose(old[-1], new[-1])
    z = a + 1j * rng.normal(size=a.shape)
    h = 2.0 * np.eye(4) + z[:, :, :1] @ np.conj(np.swapaxes(z[:, :, :1], -1, -2))
    for op, x, compose in (
        ("qr", z, lambda q, r: q @ r),
        ("svd", z, lambda u, s, vh: (u * s[..., np.newaxis, :]) @ vh),
        ("eigh", h, lambda w, v: (v * w[..., np.newaxis, :]) @ np.conj(np.swapaxes(v, -1, -2))),
        ("eig", z, lambda w, v: (v * w[..., np.newaxis, :]) @ np.linalg.inv(v)),
        ("eig", h, lambda w, v: (v * w[..., np.newaxis, :]) @ np.linalg.inv(v)),
    ):
        params = PARAMS.get(op, {})
        old, new = (
            getattr(usual, op)(x, **params),
            getattr(Turned("float64", 1, permuted=op == "eig"), op)(x, **params),
        )
        assert np.allclose(compose(*new), x, atol=1e-12)
        assert not np.allclose(old[-1], new[-1])
        assert np.allclose(np.linalg.norm(new[0 if op in ("qr", "svd") else 1], axis=-2), 1.0)
    w, v = Turned("float64", 1, permuted=True).eigh(s)
    assert not np.all(np.diff(w) >= -1e-9)
    assert np.allclose((v * w) @ v.T, s, atol=1e-13)
    first, second = (Turned("float64", k).eigh(s)[1][:, :3] for k in (1, 2))
    assert not np.allclose(np.abs(first), np.abs(second), atol=0.01), (
        "rotated in the space of the repeated eigenvalue"
    )


class OneTriangle(ReverseMode):
    """Cotangents of symmetric inputs as of a library that reads the lower triangle only: all of an entry's
    pair stands there.
    """

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        if node.op not in ("cholesky", "eigvalsh"):
            return parts
        return [None if p is None else apply("tril", p) + apply("tril", p, k=-1) for p in parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "c = cholesky(0.5 * (a + permute_dims(a, (0, 2, 1))))\n    return triangular_solve(c, a)",
            Verdict.AGREE,
        ),
        ("return eigvalsh(a @ permute_dims(a, (0, 2, 1)))", Verdict.AGREE),
        ("l = tril(a)\n    return eigvalsh(l + permute_dims(l, (0, 2, 1)))", Verdict.AGREE),
        (
            "return cholesky(a)",
            Verdict.DISAGREE,
        ),  # the language means the symmetric part, and the oracles' sources say so
    ],
)
def test_on_the_tangent_space_of_symmetric_matrices_it_is_the_same_which_triangle_is_read(
    text: str, expected: Verdict
) -> None:
    program = parse(f'def f(a: "float[2, 3, 3]"):\n    {text}\n')
    (a,) = draw_many(matrices((2, 3, 3), structure="spd"), 1, 0)
    question = weighted_question(program, [Point({"a": a})], "float64", ("rev",))
    oracle = EngineOracle("engine:lower", Rules(reverse=OneTriangle))
    (case,) = Evaluator().cases(oracle.name, question, oracle.answer(question))
    assert case.verdict is expected, case.message


def test_a_zero_of_one_phase_is_rounding_of_another() -> None:
    """The diagonal of a Hermitian function of a matrix is real; that its imaginary part is exactly 0 is due
    to LAPACK's phases.
    """
    adjoint = "conj(permute_dims({0}, (1, 0)))".format
    body = (
        f"w, v = eigh(0.5 * (a + {adjoint('a')}))\n    return imag(v * reshape(sin(w), (1, 3)) @"
        f" {adjoint('v')})"
    )
    program = parse(f'def f(re: "float[3, 3]", im: "float[3, 3]"):\n    a = complex(re, im)\n    {body}\n')
    re_, im = [[8, 0, 2], [0, 8.03125, -4], [2, -4, 7.0625]], [[0, 5, -4], [-5, 0, -2], [4, 2, 0]]
    question = weighted_question(
        program, [Point({"re": np.array(re_, float), "im": np.array(im, float)})], "float64", ("rev",)
    )
    graph = prune(derivative(program, wrt=question.wrt, modes=question.modes))
    for turn in range(TURNS):
        (case,) = Evaluator().cases(
            "engine:turned", question, answers(question, graph, Turned("float64", turn))
        )
        assert case.verdict is Verdict.AGREE, case.message


REPEATED = np.diag([2.0, 2.0, 3.0])
BY_FACTORS = (
    "w, v = eigh(a)\n    return matmul(v * reshape(sin(w), (1, 3)), permute_dims(v, (1, 0)))",
    "u, s, vh = svd(a)\n    return matmul(u * reshape(sin(s), (1, 3)), vh)",
)


@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("rev", "fwd")], ids="-".join)
@pytest.mark.parametrize("body", BY_FACTORS)
def test_a_function_of_a_matrix_with_repeated_values_is_nobodys_error(
    body: str, modes: tuple[Mode, ...]
) -> None:
    """Its derivative exists, but not those of the factors that it is computed with: NaN and any number are
    inconclusive, also to both references.
    """
    program = parse(f'def f(a: "float[3, 3]"):\n    {body}\n')
    question = weighted_question(program, [Point({"a": REPEATED})], "float64", modes)
    (own,) = EngineOracle().answer(question)
    assert np.isnan(own.gradient["a"]).any()
    for gradient in (own.gradient["a"], np.ones((3, 3))):
        for confirm in (False, True):
            (case,) = Evaluator().cases(
                "any", question, [replace(own, gradient={"a": gradient})], confirm=confirm
            )
            assert case.verdict is Verdict.INCONCLUSIVE
            assert "choice of vectors for a repeated value" in case.message
    near = weighted_question(
        program, [Point({"a": REPEATED + np.diag([0.0, 2.0**-8, 0.0])})], "float64", modes
    )
    (case,) = Evaluator().cases("engine", near, EngineOracle().answer(near))
    assert case.verdict is Verdict.AGREE, case.message


def test_no_choice_is_a_finding(seed: int) -> None:
    check(real_cases(20, seed), seed)


def test_no_phase_is_a_finding(seed: int) -> None:
    check(complex_ones(16, seed), seed)


@pytest.mark.slow
def test_no_choice_is_a_finding_at_length(seed: int) -> None:
    check(real_cases(500, seed + 1), seed + 1)


@pytest.mark.slow
def test_no_phase_is_a_finding_at_length(seed: int) -> None:
    check(complex_ones(100, seed + 1), seed + 1)

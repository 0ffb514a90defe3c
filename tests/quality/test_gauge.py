"""A decomposition is free in signs, in rotations among equal values and in the order of eigenvalues: no choice of these is a finding.

The oracle here is the engine with a choice of its own: what LAPACK returns is turned at random before the derivative sees it.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import Rules, derivative
from gradfuzz.engine.prune import prune
from gradfuzz.engine.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.value import Value, apply
from gradfuzz.fuzzer.finding import Case, Verdict
from gradfuzz.fuzzer.jury import Jury
from gradfuzz.fuzzer.questions import questions, weighted_question
from gradfuzz.oracles.base import Answer, Point, Question
from gradfuzz.oracles.engine import EngineOracle
from gradfuzz.programs import parse, to_text
from gradfuzz.programs.graph import Equation, Graph
from gradfuzz.programs.interpret import evaluate, interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.strategies import draw_many, linalg_cases, matrices

OPS = ("qr", "svd", "eigh", "svdvals", "eigvalsh", "pinv", "lstsq", "matrix_norm")
"""Those whose derivatives are written with a decomposition that is free in something."""
EIGENVALUES = re.compile(r"\beig")
TURNS = 10
"""So many choices for each program."""
UNITS = 64.0
"""Values nearer to each other, in terms of the roundoff of the largest, count as equal."""


class Turned(NumpyNamespace):
    """NumPy with other signs, other vectors of equal values, and with `permuted` other orders of eigenvalues.

    The same matrix is always turned in the same way, as the results of one decomposition belong together.
    """

    def __init__(self, precision: Any, turn: int, *, permuted: bool = False) -> None:
        super().__init__(precision)
        self.turn, self.permuted = turn, permuted

    def rng(self, x: Any) -> np.random.Generator:
        return np.random.default_rng([self.turn, zlib.crc32(np.ascontiguousarray(x).tobytes())])

    def qr(self, x: Any, *, mode: Any) -> Any:
        q, r = super().qr(x, mode=mode)
        s = self.rng(x).choice(np.array([-1, 1], q.dtype), (*q.shape[:-2], 1, q.shape[-1]))
        return q * s, np.swapaxes(s, -1, -2) * r

    def svd(self, x: Any, *, full_matrices: bool) -> Any:
        u, s, vh = super().svd(x, full_matrices=full_matrices)
        k = s.shape[-1]
        turns = self.rotations(x, s)
        u, vh = u.copy(), vh.copy()
        u[..., :k] = u[..., :k] @ turns
        vh[..., :k, :] = np.swapaxes(turns, -1, -2) @ vh[..., :k, :]
        return u, s, vh

    def eigh(self, x: Any) -> Any:
        w, v = super().eigh(x)
        order = self.order(x, w)
        turned = v @ self.rotations(x, w)
        return np.take_along_axis(w, order, -1), np.take_along_axis(turned, order[..., np.newaxis, :], -1)

    def eigvalsh(self, x: Any) -> Any:
        w = super().eigvalsh(x)
        return np.take_along_axis(w, self.order(x, w), -1)

    def order(self, x: Any, w: Any) -> Any:
        """The same for the values alone and with their vectors."""
        order = np.broadcast_to(np.arange(w.shape[-1]), w.shape)
        return self.rng(w.shape).permuted(order, axis=-1) if self.permuted else order

    def rotations(self, x: Any, values: Any) -> Any:
        """Orthogonal matrices that mix what belongs to equal values, and turn the rest by signs."""
        rng = self.rng(x)
        n = values.shape[-1]
        result = np.zeros((*values.shape, n), values.dtype)
        for place in np.ndindex(*values.shape[:-1]):
            near = UNITS * np.finfo(values.dtype).eps * np.abs(values[place]).max(initial=0.0)
            starts = [k for k in range(n) if k == 0 or abs(values[place][k] - values[place][k - 1]) > near]
            for first, last in zip(starts, [*starts[1:], n], strict=True):
                turned = np.linalg.qr(rng.normal(size=(last - first,) * 2))[0]
                result[place][first:last, first:last] = turned * rng.choice([-1.0, 1.0], last - first)
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
        pairs = zip(*(interpret(question.program, point.inputs, ns) for ns in (usual, namespace)), strict=True)
        if not all(np.allclose(a, b, rtol=near, atol=0) for a, b in pairs):
            return False
    return True


def judged(programs: int, seed: int) -> list[Case]:
    """Every variation of every program, in first and in second order in turn."""
    jury, result = Jury(), []
    permuted_at_all = 0
    for index, drawn in enumerate(draw_many(linalg_cases(ops=OPS, max_side=4, empty=False), programs, seed)):
        (question, *_) = questions(drawn, index, seed, orders=(1 + index % 2,))
        graph = prune(derivative(question.program, wrt=question.wrt, modes=question.modes))
        text = to_text(question.program)
        for turn in range(TURNS):
            choice = 1000 * index + turn
            other = Turned(question.precision, choice, permuted=True)
            permuted = bool(turn % 2) and EIGENVALUES.search(text) is not None and same_values(question, other)
            given = answers(question, graph, other if permuted else Turned(question.precision, choice))
            permuted_at_all += permuted
            result += jury.cases("engine:turned", question, given)
    assert permuted_at_all
    return result


def check(programs: int, seed: int) -> None:
    found = judged(programs, seed)
    counts = Counter(c.verdict.value if c.reason is None else c.reason.value for c in found)
    print(f"{programs} programs, {programs * TURNS} variations, {len(found)} checks: {dict(counts)}")
    for case in found:
        assert case.verdict not in (Verdict.DISAGREE, Verdict.CRASHED), (
            f"{case.kind} {case.message} expected {case.expected} got {case.got} at {case.point.inputs}, "
            f"modes {case.question.modes} {case.question.precision} wrt {case.question.wrt}\n{case.question.program}"
        )
    assert sum(c.verdict is Verdict.AGREE for c in found) > 0.8 * len(found)


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
        params = {"qr": {"mode": "reduced"}, "svd": {"full_matrices": False}}.get(op, {})
        old, new = getattr(usual, op)(x, **params), getattr(other, op)(x, **params)
        assert np.allclose(compose(*new), x, atol=1e-13)
        assert not np.allclose(old[-1], new[-1])
    w, v = Turned("float64", 1, permuted=True).eigh(s)
    assert not np.all(np.diff(w) >= -1e-9)
    assert np.allclose((v * w) @ v.T, s, atol=1e-13)
    first, second = (Turned("float64", k).eigh(s)[1][:, :3] for k in (1, 2))
    assert not np.allclose(np.abs(first), np.abs(second), atol=0.01), "rotated in the space of the repeated eigenvalue"


class OneTriangle(ReverseMode):
    """Cotangents of symmetric inputs as of a library that reads the lower triangle only: all of an entry's pair stands there."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        if node.op not in ("cholesky", "eigvalsh"):
            return parts
        return [None if p is None else apply("tril", p) + apply("tril", p, k=-1) for p in parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c = cholesky(0.5 * (a + permute_dims(a, (0, 2, 1))))\n    return triangular_solve(c, a)", Verdict.AGREE),
        ("return eigvalsh(a @ permute_dims(a, (0, 2, 1)))", Verdict.AGREE),
        ("l = tril(a)\n    return eigvalsh(l + permute_dims(l, (0, 2, 1)))", Verdict.AGREE),
        ("return cholesky(a)", Verdict.DISAGREE),  # the language means the symmetric part, and the oracles' sources say so
    ],
)
def test_on_the_tangent_space_of_symmetric_matrices_it_is_the_same_which_triangle_is_read(text: str, expected: Verdict) -> None:
    program = parse(f'def f(a: "float[2, 3, 3]"):\n    {text}\n')
    (a,) = draw_many(matrices((2, 3, 3), structure="spd"), 1, 0)
    question = weighted_question(program, [Point({"a": a})], "float64", ("rev",))
    oracle = EngineOracle("engine:lower", Rules(reverse=OneTriangle))
    (case,) = Jury().cases(oracle.name, question, oracle.answer(question))
    assert case.verdict is expected, case.message


def test_no_choice_is_a_finding(seed: int) -> None:
    check(20, seed)


@pytest.mark.slow
def test_no_choice_is_a_finding_at_length(seed: int) -> None:
    check(500, seed + 1)

"""The public strategies inside the test suite of another library, HIPS autograd: loops and linear algebra.

Nothing of its own suite is needed. What is found and known is in docs/trophies.md, with a script in
docs/findings; anything else that is wrong fails.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import Call, Program, parse, walk
from gradfuzz.strategies import arrays, climb, cotangents, draw_many, linalg_programs, loops, points

pytest.importorskip("autograd")

SCRIPTS = Path(__file__).parents[2] / "docs" / "findings"
OPS = (
    *(
        "inv",
        "det",
        "slogdet",
        "solve",
        "triangular_solve",
        "cholesky",
        "svd",
        "svdvals",
        "eigh",
        "eigvalsh",
        "pinv",
        "matrix_norm",
    ),
    *("vector_norm", "trace", "diagonal", "tril", "triu", "kron", "outer", "matmul"),
)
"""Linear algebra that autograd has derivatives of."""


# What is known ----------------------------------------------------------------------------------------------


def calls(case: CheckResult, *ops: str) -> list[Call]:
    return [node for node in walk(case.question.program) if isinstance(node, Call) and node.op in ops]


def batches(case: CheckResult) -> list[tuple[int, ...]]:
    """The batch axes of each parameter."""
    return [p.type.sizes[:-2] for p in case.question.program.params]


def has(case: CheckResult, op: str, **params: object) -> bool:
    return any(
        all(dict(call.params).get(name) == value for name, value in params.items())
        for call in calls(case, op)
    )


def oblong(case: CheckResult) -> bool:
    return any(p.type.sizes[-1] != p.type.sizes[-2] for p in case.question.program.params if p.type.rank > 1)


@dataclass(frozen=True)
class Known:
    """A mistake of autograd, by its script, and the cases that it explains."""

    script: str
    explains: Callable[[CheckResult], bool]


KNOWN = (
    Known("autograd/norm_stack", lambda c: bool(calls(c, "matrix_norm")) and any(batches(c))),
    Known("autograd/solve_broadcast", lambda c: bool(calls(c, "solve")) and len(set(batches(c))) > 1),
    Known("autograd/triangular_unit_diagonal", lambda c: has(c, "triangular_solve", unit_diagonal=True)),
    Known(
        "autograd/eigh_second_order", lambda c: bool(calls(c, "eigh")) and c.question.modes == ("rev", "rev")
    ),
    Known("autograd/diagonal_shape", lambda c: bool(calls(c, "diagonal")) and oblong(c)),
    Known("autograd/norm_inf", lambda c: has(c, "vector_norm", ord="inf") and c.kind is Class.NON_FINITE),
    Known(
        "autograd/det_singular",
        lambda c: bool(calls(c, "det")) and "LinAlgError: Singular matrix" in c.message,
    ),
    Known("autograd/svd_repeated", lambda c: bool(calls(c, "svd")) and c.kind is Class.NON_FINITE),
    Known("autograd/prod_zero", lambda c: bool(calls(c, "prod")) and c.kind is Class.NON_FINITE),
    Known("autograd/tanh_second_derivative", lambda c: bool(calls(c, "tanh")) and c.question.order > 1),
    Known("autograd/pow_zero_exponent", lambda c: bool(calls(c, "pow")) and c.question.order > 1),
    Known(
        "autograd/float64_of_float32",
        lambda c: c.question.precision == "float32" and c.kind is Class.WRONG_DTYPE,
    ),
    Known("autograd/divide_range", lambda c: bool(calls(c, "divide", "abs")) and c.question.order > 1),
)
"""Numbered in docs/trophies.md, each with its cause in autograd's source."""


def test_what_is_known_has_a_script() -> None:
    assert [k.script for k in KNOWN if not (SCRIPTS / f"{k.script}.py").is_file()] == []


# The tests --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def autograd() -> Oracle:
    """autograd in a process of its own, by its public functions."""
    (oracle,) = resolve("autograd")
    return oracle


@st.composite
def questions(
    draw: Any, programs: st.SearchStrategy[Program], modes: st.SearchStrategy[tuple[Mode, ...]]
) -> Question:
    """A program at one point: the derivative, by all its floats, of its outputs times weights."""
    program = draw(programs)
    precision = draw(st.sampled_from(["float64", "float64", "float32"]))
    point = draw(points(program, precision=precision))
    floats = tuple(p.name for p in program.params if p.type.is_float)
    near_one = {"precision": "float32", "min_value": -2.0, "max_value": 2.0, "extremes": False}
    along = {name: draw(arrays(point[name].shape, **near_one)).astype(np.float64) for name in floats}
    return Question(
        program, (Point(point),), precision, floats, draw(modes), draw(cotangents(program)), along
    )


def judged(evaluator: Evaluator, oracle: Oracle, question: Question) -> CheckResult:
    """The verdict: by one reference where the answer is right, by both before anything is called wrong."""
    refusal = oracle.supports(question)
    answers = [Answer("unsupported", message=refusal)] if refusal is not None else oracle.answer(question)
    (case,) = evaluator.cases(oracle.name, question, answers)
    if case.verdict.is_wrong:
        (case,) = evaluator.cases(oracle.name, question, answers, confirm=True, thorough=True)
    return case


@pytest.mark.parametrize("offset", [-1, 0, 1, 2])
def test_a_diagonal_beside_the_main_one(autograd: Oracle, offset: int) -> None:
    """autograd wants the two axes exchanged, which exchanges the sides of the main diagonal."""
    program = parse(f'def f(a: "float[2, 3, 3]"):\n    return diagonal(a, offset={offset})')
    point = Point({"a": np.arange(18.0).reshape(2, 3, 3) / 8})
    case = judged(Evaluator(), autograd, weighted_question(program, [point], "float64", ("fwd",)))
    assert case.verdict is Verdict.AGREE


COMPOSED = (
    "broadcast_to(v, (2, 3))",
    "clip(v, A[0, 0], v + 0.125)",
    "clip(A, v - 0.5, v)",
    "diagonal(B, offset=1)",
    "diagonal(B, offset=-2)",
    "diagonal(A, offset=-2)",
    "diagonal(A, offset=3)",
    "kron(A, B)",
    "kron(A[0], B)",
    "log_softmax(A, axis=1)",
    "logsumexp(v[0], keepdims=True)",
    "logsumexp(A, axis=(0, 2), keepdims=True)",
    "softmax(A, axis=-1)",
    *(f"matrix_norm(A, ord={ord!r}, keepdims=True)" for ord in (1, -1, 2, -2, "inf", "-inf")),
    *(f"matrix_norm(B, ord={ord!r})" for ord in (1, -1, 2, -2, "inf", "-inf")),
    *(f"matrix_power(A, n={n})" for n in (-2, 0, 1, 3)),
    "sort(A, axis=1)",
    "sort(B, axis=0)",
    "svd(B, full_matrices=True)[1]",
    "abs(svd(B, full_matrices=True)[0])",
    "abs(svd(transpose(B), full_matrices=True)[2])",
    "take_along_axis(B, array([[0, 1, 1]]), axis=-2)",
    "take_along_axis(A, array([[[0, 2, 0, 1]]]), axis=2)",
    "trace(A)",
    "trace(A, offset=-1)",
    "trace(B, offset=2)",
    *(f"vector_norm(A, ord={ord!r}, axis=-2)" for ord in (-2, -1, 0, 1, "-inf")),
    *(f"vector_norm(A, ord={ord!r}, keepdims=True)" for ord in (-2, -1, 0, 1, "-inf")),
    *(
        f"triangular_solve({a}, {b}, lower={lower}, transposed={transposed}, left={left}{unit})"
        for a, b in (("A", "A"), ("A", "A[0]"), ("A[0]", "A"))
        for lower, transposed in itertools.product((False, True), repeat=2)
        for left, unit in ((True, ""), (False, ", unit_diagonal=True"))
    ),
    "triangular_solve(A[0], B, lower=True, left=False)",
    "triangular_solve(A[0], B, lower=False, transposed=True, left=False)",
)
"""Values of a (2, 3, 3) stack, a (2, 3) matrix and a (3,) vector: autograd has no rule of these forms."""


@pytest.mark.parametrize("modes", [("rev",), ("rev", "rev")])
@pytest.mark.parametrize("value", COMPOSED)
def test_what_the_adapter_composes_is_right(autograd: Oracle, value: str, modes: tuple[Mode, ...]) -> None:
    program = parse(f'def f(A: "float[2, 3, 3]", B: "float[2, 3]", v: "float[3]"):\n    return {value}\n')
    numbers = np.random.default_rng(5).permutation(np.linspace(-1.5, 2.5, 27))
    stack = numbers[:18].reshape(2, 3, 3) + np.diag([3.0, 5.0, 7.0])
    point = Point({"A": stack, "B": numbers[18:24].reshape(2, 3), "v": numbers[24:]})
    case = judged(Evaluator(), autograd, weighted_question(program, [point], "float64", modes))
    assert case.verdict is Verdict.AGREE, (case.kind, case.message)


LOOPS = questions(
    loops(), st.sampled_from([("rev",), ("fwd",), ("rev", "rev"), ("fwd", "rev"), ("rev", "fwd")])
)
LINALG = questions(
    linalg_programs(ops=OPS, max_side=3), st.sampled_from([("rev",), ("rev",), ("rev", "rev"), ("fwd",)])
)


def explained(case: CheckResult) -> str:
    """The verdict, or the script of what is known; an assertion that fails for anything else that
    is wrong.
    """
    if not case.verdict.is_wrong:
        climb(case.error_over_allowed)
        return case.verdict.value
    known = [k.script for k in KNOWN if k.explains(case)]
    truth = case.truth and case.truth.gradient
    assert known, (
        f"{case.kind}: {case.message or case.error_over_allowed}\n{case.question}\ngot"
        f" {case.answer.gradient}\ntrue {truth}"
    )
    return known[0]


@pytest.mark.parametrize("drawn", [pytest.param(LOOPS, id="loops"), pytest.param(LINALG, id="linalg")])
def test_autograd_is_right_but_for_what_is_known(
    autograd: Oracle, drawn: st.SearchStrategy[Question]
) -> None:
    """As a suite would have it: Hypothesis varies what it has drawn, climbs to the worst errors, and shrinks
    what fails.
    """
    evaluator = Evaluator()
    seen: Counter[str] = Counter()

    @settings(
        max_examples=50,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.target, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(drawn)
    def test(question: Question) -> None:
        seen[explained(judged(evaluator, autograd, question))] += 1

    test()
    print(dict(seen))
    assert seen["agree"] > 25


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [pytest.param(LOOPS, id="loops"), pytest.param(LINALG, id="linalg")])
def test_a_thousand_draws(autograd: Oracle, drawn: st.SearchStrategy[Question], seed: int) -> None:
    """Each drawn anew, so that they differ as much as they can."""
    evaluator = Evaluator()
    seen = Counter(
        explained(judged(evaluator, autograd, question)) for question in draw_many(drawn, 1000, seed)
    )
    print(dict(seen))
    assert seen["agree"] > 500
    assert len(set(seen) & {k.script for k in KNOWN}) > 1

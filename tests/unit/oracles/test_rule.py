"""The rules of ways in exact numbers: what they answer, and what a planted term does to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.interpreters import ad

from gradfuzz.engine import derivative
from gradfuzz.fuzzer.findings.diagnose import Witness, diagnose
from gradfuzz.fuzzer.findings.facts import facts
from gradfuzz.fuzzer.findings.survey import asked as asked_about
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.finding import Class, Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.rounding import sustained
from gradfuzz.oracles.base import UNTRACED, Answer, Array, Mode, Oracle, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.jax.rule import JaxRule
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.rule import RuleOracle
from gradfuzz.oracles.torch.namespace import TorchNamespace
from gradfuzz.oracles.torch.rule import TorchRule
from gradfuzz.programs import parse
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import Precision
from gradfuzz.tracing.common.units import Unit
from tests.releases import skip_where_right

PROGRAMS = {
    "loop": """
def f(x, y):
    acc = x
    for i in range(3):
        acc = sin(acc * y) + 0.1
    return acc
""",
    "branch": """
def f(x, y):
    acc = x
    while acc < 3.0:
        if acc > 1.0:
            acc = acc * acc + y
        else:
            acc = acc + exp(y)
    return acc, x
""",
    "matrix": 'def f(a: "float[2, 2]", b: "float[2]"):\n    return inv(a) @ b * b, sum(a @ a)\n',
    "unused": "def f(x, y):\n    return x * x\n",
}
POINTS = {
    "loop": {"x": 0.75, "y": 0.5},
    "branch": {"x": 0.25, "y": 0.5},
    "matrix": {"a": [[2.0, 0.5], [-0.25, 1.0]], "b": [0.5, -1.5]},
    "unused": {"x": 0.75, "y": 0.5},
}
MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",), ("rev", "fwd"), ("fwd", "rev"), ("rev", "rev"))
WAYS = {"jax": lambda: JaxRule("scan"), "torch": TorchRule}


def asked(name: str, modes: tuple[Mode, ...], precision: str) -> Question:
    program = parse(PROGRAMS[name])
    point = Point({k: np.array(v, precision) for k, v in POINTS[name].items()})
    return weighted_question(program, (point,), precision, modes)  # type: ignore[arg-type]


@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("library", WAYS)
def test_a_rule_is_the_derivative_to_the_last_digit_of_float64(
    library: str, name: str, precision: str, modes: tuple[Mode, ...]
) -> None:
    question = asked(name, modes, precision)
    way = WAYS[library]()
    refusal = way.supports(question)
    if refusal is not None:  # Torch has no linear algebra in half precision
        assert (precision, name) == ("bfloat16", "matrix")
        return
    (answer,) = way.answer(question)
    (truth,) = ArbReference().truth(question)
    assert answer.status == "ok", answer.message
    assert answer.bounds is not None
    for k, value in enumerate(truth.values):
        np.testing.assert_allclose(answer.values[k], value, rtol=1e-15)
        assert np.all(answer.bounds[f"output {k}"] <= 1e-14 * np.abs(value) + 1e-300)
    for key, right in truth.gradient.items():
        apart = np.abs(answer.gradient[key] - right)
        assert np.all(apart <= answer.bounds[key] + truth.bounds[key])
        assert np.all(answer.bounds[key] <= 1e-13 * np.max(np.abs(right), initial=1e-300))
    (case,) = Evaluator().cases(way.name, question, [answer])
    told = case.verdict, case.reason
    assert told == (Verdict.AGREE, None) or (precision, told[1]) == ("bfloat16", Reason.PRIMAL)


def test_a_value_has_no_rule() -> None:
    for make in WAYS.values():
        assert make().supports(asked("loop", (), "float64")) == "a value has no derivative rule"


# Planted terms ----------------------------------------------------------------------------------------------


@pytest.fixture
def term_in_jax() -> Iterator[None]:
    """JAX's rule of tan, with a term of a ten-billionth of it."""
    primitive = jax.lax.tan_p
    before = ad.primitive_jvps[primitive]

    def wrong(primals, tangents, **params):  # type: ignore[no-untyped-def]
        ((x,), (t,)) = primals, tangents
        out, slope = before(primals, tangents, **params)
        return out, slope + 1e-10 * t * jnp.sin(x)

    ad.primitive_jvps[primitive] = wrong
    yield
    ad.primitive_jvps[primitive] = before


class _Tan(torch.autograd.Function):
    """The tangent, with the same term."""

    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        return torch.tan(x)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return g * (1 + torch.tan(x) ** 2) + 1e-10 * g * torch.sin(x)


@pytest.fixture
def term_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TorchNamespace.elementwise

    def elementwise(self, row):  # type: ignore[no-untyped-def]
        return _Tan.apply if row.name == "tan" else plain(self, row)

    monkeypatch.setattr(TorchNamespace, "elementwise", elementwise)


def judged(way: Oracle, question: Question) -> tuple[Verdict, Class | None]:
    (case,) = Evaluator().cases(way.name, question, way.answer(question))
    return case.verdict, case.kind


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("op", ["tan", "atan"])
@pytest.mark.parametrize(
    ("library", "make", "constant"),
    [("jax", lambda: JaxRule("scan"), 0.3125), ("torch", TorchRule, 0.4375)],
    ids=["jax", "torch"],
)
def test_a_term_that_rounding_hides_is_a_wrong_rule(
    request: pytest.FixtureRequest,
    library: str,
    make: Callable[[], RuleOracle],
    constant: float,
    op: str,
    precision: Precision,
) -> None:
    request.getfixturevalue(f"term_in_{library}")
    program = parse(f"def f(x):\n    return {op}(x) * x + {constant}\n")
    question = weighted_question(program, (Point({"x": np.array(0.75, precision)}),), precision, ("rev",))
    rule = make()
    if op == "atan":  # nothing was planted there
        assert judged(rule, question) == (Verdict.AGREE, None)
        return
    assert judged(rule, question) == (Verdict.DISAGREE, Class.WRONG_RULE)
    if precision == "float32":
        assert judged(rule.way, question) == (Verdict.AGREE, None)


def test_a_rule_that_is_as_good_as_its_dtype_is_right() -> None:
    """JAX takes 1/2 for the slope of i1e where |x| is below the eps of the dtype: true is 1 - 2e-7 of it."""
    skip_where_right("jax", "0.12")
    program = parse("def f(x):\n    return i0(x)\n")
    point = Point({"x": np.array(1e-7, "float32")})
    question = weighted_question(program, (point,), "float32", ("fwd", "rev"))
    rule, evaluator = JaxRule("scan"), Evaluator()
    (case,) = evaluator.cases(rule.name, question, rule.answer(question))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.WRONG_RULE)
    case = sustained(case, question, 0, rule, evaluator)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "approximation that is good enough for float32" in case.message


def test_a_value_that_is_as_good_as_its_dtype_is_no_matter_of_the_rule() -> None:
    """JAX's expm is a quotient of polynomials: in float32 one of a lower degree, 1e-8 from the truth."""
    program = parse("def f(x: 'float[1, 1]'):\n    return expm(x)\n")
    point = Point({"x": np.array([[1.5]], "float32")})
    question = weighted_question(program, (point,), "float32", ("rev",))
    rule, evaluator = JaxRule("scan"), Evaluator()
    (answer,) = rule.answer(question)
    assert answer.bounds is not None
    error = abs(float(answer.values[0][0, 0]) - math.exp(1.5)) / math.exp(1.5)
    assert 1e-9 < error < np.finfo("float32").eps
    (case,) = evaluator.cases(rule.name, question, [answer])
    case = sustained(case, question, 0, rule, evaluator)
    assert case.verdict in (Verdict.AGREE, Verdict.INCONCLUSIVE), case.message


def test_a_finding_says_where_a_wrong_rule_is_written_and_names_no_planted_bug(term_in_jax: None) -> None:
    program = parse("def f(x):\n    return tan(x)\n")
    points = tuple(Point({"x": np.array(x, "float32")}) for x in (0.75, -0.5, 1.25))
    question = weighted_question(program, points, "float32", ("rev",))
    rule = JaxRule("scan")
    candidates = [Candidate.of(question, k) for k in range(len(points))]
    cases = [asked_about(candidate, rule) for candidate in candidates]
    assert {case.kind for case in cases} == {Class.WRONG_RULE}
    told = " ".join(facts(candidates[0], cases, rule).sentences)
    assert "tan alone is wrong" in told
    assert f"its rule: {__file__}:" in told
    assert "in the rule of tan" in told
    witnesses = [Witness(candidate, case) for candidate, case in zip(candidates, cases, strict=True)]
    assert diagnose(witnesses, rule) is None


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_planted_term_is_sustained(term_in_jax: None, precision: Precision) -> None:
    program = parse("def f(x):\n    return tan(x) * x + 0.8125\n")
    question = weighted_question(program, (Point({"x": np.array(0.75, precision)}),), precision, ("rev",))
    rule, evaluator = JaxRule("scan"), Evaluator()
    (case,) = evaluator.cases(rule.name, question, rule.answer(question))
    assert sustained(case, question, 0, rule, evaluator).kind is Class.WRONG_RULE


# What counts, and what does not -----------------------------------------------------------------------------


class _Misread(RuleOracle):
    """Of the engine; the graph is that of another program."""

    def __init__(self) -> None:
        super().__init__(EngineOracle(), 1)

    def steps(self, question: Question, index: int) -> Iterable[Unit]:
        return ()

    def traced(self, question: Question, index: int) -> tuple[Graph, Sequence[Array]]:
        other = parse("def f(x):\n    return x * x * x\n")
        graph = derivative(other, wrt=("x",), modes=question.modes)
        given = [*question.points[index].inputs.values(), *question.weights]
        return graph, [g for g in given if g is not None][: len(graph.inputs)]


def test_a_trace_that_is_not_what_the_library_computes_does_not_count() -> None:
    program = parse("def f(x):\n    return x * x\n")
    question = weighted_question(program, (Point({"x": np.array(0.75)}),), "float64", ("rev",))
    (answer,) = _Misread().answer(question)
    assert answer.status == "unsupported"
    assert answer.message.startswith(UNTRACED)
    counts = Counts()
    (case,) = Evaluator().cases("engine:rule", question, [answer])
    counts.count(case)
    assert (counts.checks, counts.proofs) == (0, 0)
    assert counts.untraced == {"it misses a part of the rule, and does not give the library's answer": 1}


class _Raises(_Misread):
    def __init__(self) -> None:
        super().__init__()
        self.way.answer_all = lambda _: [[Answer("error", message="ValueError: no")]]  # type: ignore[method-assign]


def test_what_the_library_raises_is_told_of_the_way_alone() -> None:
    program = parse("def f(x):\n    return x * x\n")
    question = weighted_question(program, (Point({"x": np.array(0.75)}),), "float64", ("rev",))
    (answer,) = _Raises().answer(question)
    assert (answer.status, answer.message) == ("unsupported", f"{UNTRACED}the library does not compute it")


def test_proofs_are_counted() -> None:
    question = asked("loop", ("rev",), "float32")
    way = JaxRule("scan")
    counts = Counts()
    for answer in (way.answer(question), way.way.answer(question)):
        (case,) = Evaluator().cases(way.name, question, answer)
        counts.count(case)
    assert (counts.checks, counts.proofs) == (2, 1)


@pytest.mark.parametrize("points", [1, 2])
def test_bounds_go_through_the_protocol(points: int) -> None:
    (there,) = resolve("torch:eager:rule", supervised=True)
    question = asked("loop", ("rev",), "float32")
    several = [Point({"x": np.float32(0.75 + k), "y": np.float32(0.5)}) for k in range(points)]
    question = replace(question, points=tuple(several))
    for mine, theirs in zip(TorchRule().answer(question), there.answer(question), strict=True):
        assert mine.bounds is not None
        assert theirs.bounds is not None
        assert mine.bounds.keys() == theirs.bounds.keys()
        assert mine.rules == theirs.rules
        assert "SinBackward0 of torch's table of derivatives" in mine.rules
        for name, bound in mine.bounds.items():
            assert theirs.bounds[name].dtype == np.float64
            np.testing.assert_array_equal(theirs.bounds[name], bound)
    there.close()

"""Overflow and underflow in the target's dtype: of the value, on the way to it, or in the derivative only.

What a format cannot hold is nobody's wrong gradient: every right system returns infinities, NaN or zeros
there. At ordinary points the same programs are judged, and NaN is wrong.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Doubt, Mode, Oracle, Point, Question
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import FORMATS, Precision

PRECISIONS = get_args(Precision)
MODES: tuple[tuple[Mode, ...], ...] = ((), ("rev",), ("fwd",), ("rev", "fwd"))
WAYS = ["engine"] + [way for way in ("torch:eager", "torch:func") if importlib.util.find_spec("torch")]

SCALARS = {
    "sigmoid": "exp(x) / (1.0 + exp(x))",
    "softplus": "log(1.0 + exp(x))",
    "softplus by log1p": "log1p(exp(x))",
    "exp": "exp(x)",
}
"""exp overflows a little beyond log of the largest number."""

UNDER = {
    "ratio of squares": "x ** 2 / x ** 2",
    "absolute value": "sqrt(x * x)",
    "reciprocal": "1.0 / x",
    "product": "x * x * x",
}
"""Squares underflow at a root of the smallest normal number."""

ROWS = {
    "sum": ("sum(x)", (1.0, 1.0, -1.0, -1.0)),
    "mean": ("mean(x)", (1.0, 1.0, -1.0, -1.0)),
    "cumulative sum": ("cumulative_sum(x)[3]", (1.0, 1.0, -1.0, -1.0)),
    "inner product": ("sum(x * array([1.0, 1.0, 1.0, 1.0]))", (1.0, 1.0, -1.0, -1.0)),
    "window": ("window_sum(x, window=(4,))", (1.0, 1.0, -1.0, -1.0)),
    "absolute sum": ("vector_norm(x, ord=1)", (1.0, 1.0, -1.0, -1.0)),
    "scatter": ("scatter_add(x, array([0, 0]), array([1.0, 1.0]), axis=0)[1] * x[0]", (1.0, 1.0, -1.0, -1.0)),
}
"""In multiples of the largest number: the total is in range, and what is added up on the way is not."""

PRODUCTS = {
    "product": ("prod(x)", (0.75, 0.75, -0.75, -0.75)),
    "product with a zero": ("prod(x)", (0.75, 0.75, -np.inf, 0.0)),
    "cumulative product": ("cumulative_prod(x)[3]", (0.75, 0.75, -0.75, -0.75)),
    "cumulative product, later": ("cumulative_prod(x)[3]", (-0.75, 0.75, 0.75, -0.75)),
    "length": ("vector_norm(x)", (0.75, 0.75, 0.75, 0.75)),
    "short length": ("vector_norm(x)", (-0.75, -0.75, -0.75, -0.75)),
}
"""Entries are powers of the largest number."""


def questions() -> Iterator[tuple[str, str, Precision, tuple[float, ...] | float]]:
    """(name, text, precision, point) with something out of range."""
    for precision in PRECISIONS:
        f = FORMATS[precision]
        for name, text in SCALARS.items():
            yield name, f"def f(x):\n    return {text}\n", precision, 1.1 * float(np.log(f.largest))
        for name, text in UNDER.items():
            yield name, f"def f(x):\n    return {text}\n", precision, float(np.sqrt(f.normal)) / 4
        for name, (text, entries) in ROWS.items():
            yield (
                name,
                f'def f(x: "float[4]"):\n    return {text}\n',
                precision,
                tuple(0.9 * f.largest * e for e in entries),
            )
        for name, (text, powers) in PRODUCTS.items():
            yield (
                name,
                f'def f(x: "float[4]"):\n    return {text}\n',
                precision,
                tuple(f.largest**p for p in powers),
            )


CASES = list(questions())
IDS = [f"{name}-{precision}" for name, _, precision, _ in CASES]


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


@pytest.fixture(scope="module")
def oracles() -> list[Oracle]:
    return [resolve(name)[0] for name in WAYS]


def asked(text: str, precision: Precision, x: Any, modes: tuple[Mode, ...]) -> Question:
    with np.errstate(over="ignore"):
        point = Point({"x": np.array(x).astype(FORMATS[precision].dtype)})
    return plain_question(parse(text), [point], precision, None, modes)


def finite(arrays: Any) -> bool:
    return all(np.isfinite(np.asarray(a, np.float64)).all() for a in arrays)


@pytest.mark.parametrize(("name", "text", "precision", "x"), CASES, ids=IDS)
def test_what_the_format_cannot_hold_is_not_judged(
    name: str, text: str, precision: Precision, x: Any, evaluator: Evaluator, oracles: list[Oracle]
) -> None:
    """Agreement, or inconclusive; for the range wherever a system returns infinities or NaN. Where other
    entries can be judged, these cannot.
    """
    assert any(evaluator.tolerances(asked(text, precision, x, modes))[0].leaves_range for modes in MODES)
    for modes in MODES:
        question = asked(text, precision, x, modes)
        for oracle in oracles:
            if oracle.supports(question) is not None:
                continue
            (answer,) = oracle.answer(question)
            (case,) = evaluator.cases(oracle.name, question, [answer])
            told = f"{oracle.name} {modes}: {case.verdict} {case.message}, {answer.values} {answer.gradient}"
            assert case.verdict in (Verdict.AGREE, Verdict.INCONCLUSIVE), told
            spoilt = {name: ~np.isfinite(g) for name, g in answer.gradient.items()}
            if case.unjudged:
                assert all(np.all(case.unjudged[name] | ~out) for name, out in spoilt.items()), told
            elif not finite(answer.gradient.values() if modes else answer.values):
                assert case.reason in (Reason.RANGE, Reason.DOMAIN), told


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("text", [*SCALARS.values(), *UNDER.values()])
def test_at_ordinary_points_they_are_judged(
    text: str, precision: Precision, evaluator: Evaluator, oracles: list[Oracle]
) -> None:
    question = asked(f"def f(x):\n    return {text}\n", precision, 0.75, ("rev",))
    for oracle in oracles:
        (answer,) = oracle.answer(question)
        (case,) = evaluator.cases(oracle.name, question, [answer])
        if "x ** 2 / x ** 2" not in text:  # its derivative is rounding
            assert case.verdict is Verdict.AGREE, f"{oracle.name}: {case.message}"
            wrong = replace(answer, gradient={"x": np.full_like(answer.gradient["x"], np.nan)})
            (case,) = evaluator.cases(oracle.name, question, [wrong])
            assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.NON_FINITE)


def test_pivots_of_a_determinant_are_multiplied_too(oracles: list[Oracle]) -> None:
    """diag(b, b, 1 / b) has the determinant b, and b b is beyond the format."""
    b = 1e30
    text = (
        'def f(x: "float[3]"):\n    return det(outer(x, array([1.0, 1.0, 1.0])) * array([[1.0, 0.0, 0.0],'
        " [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))\n"
    )
    question = asked(text, "float32", (b, b, 1 / b), ())
    assert Evaluator().tolerances(question)[0].reason is Reason.RANGE
    for oracle in oracles:
        (case,) = Evaluator().cases(oracle.name, question, oracle.answer(question))
        assert case.verdict in (Verdict.AGREE, Verdict.INCONCLUSIVE), f"{oracle.name}: {case.message}"


BESIDE = 'def f(x: "float[4]"):\n    return exp(x)\n'
"""Its last value and slope at 800 are beyond float64."""


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_value_beyond_float64_hides_no_other_entry(
    precision: Precision, evaluator: Evaluator, oracles: list[Oracle]
) -> None:
    xs = (1.0, -2.0, 3.0, 800.0)
    question = asked(BESIDE, precision, xs, ("rev",))
    with np.errstate(over="ignore"):
        slopes = (np.asarray(question.weights[0]) * np.exp(xs)).astype(precision)
        (answer,) = oracles[0].answer(question)

    def judged(answer: Answer) -> CheckResult:
        (case,) = evaluator.cases("target", question, [answer], confirm=True)
        return case

    right = judged(replace(answer, gradient={"x": slopes}))
    assert right.verdict is Verdict.AGREE
    assert right.unjudged["x"].tolist() == [False, False, False, True]
    for k, factor in itertools.product(range(3), (2.0, -1.0, 0.0)):
        wrong = np.where(np.arange(4) == k, factor * slopes[k], slopes)
        case = judged(replace(answer, gradient={"x": wrong}))
        assert (case.verdict, case.worst) == (Verdict.DISAGREE, ("x", (k,)))
        assert case.references == ("arb", "mpmath")
        assert case.expected == pytest.approx(slopes[k], rel=1e-6)
    for oracle, modes in itertools.product(oracles, MODES):  # in forward mode 0 meets infinity
        question = asked(BESIDE, precision, xs, modes)
        if oracle.supports(question) is None:
            assert judged(oracle.answer(question)[0]).verdict is not Verdict.DISAGREE


def test_a_wrong_value_beside_one_beyond_float64_is_found(evaluator: Evaluator) -> None:
    question = asked(BESIDE, "float64", (1.0, -2.0, 3.0, 800.0), ())
    right = np.array([np.e, np.exp(-2.0), np.exp(3.0), np.inf])
    for values, expected in ((right, Verdict.AGREE), (right * [1.0, 2.0, 1.0, 1.0], Verdict.DISAGREE)):
        (case,) = evaluator.cases("by hand", question, [Answer("ok", (values,))], confirm=True)
        assert case.verdict is expected


@pytest.mark.parametrize("modes", [(), ("rev",)])
def test_where_every_value_is_beyond_float64_nothing_is_known(
    modes: tuple[Mode, ...], evaluator: Evaluator
) -> None:
    question = asked(BESIDE, "float64", (800.0, 900.0, 1000.0, 1e4), modes)
    for reference in (ArbReference(), MpmathReference()):
        (truth,) = reference.truth(question)
        assert (truth.status, truth.doubt) == ("inconclusive", Doubt.RANGE)


def test_the_references_agree_about_what_is_beyond_float64() -> None:
    question = asked(BESIDE, "float64", (1.0, -2.0, 3.0, 800.0), ("rev",))
    for reference in (ArbReference(), MpmathReference()):
        (truth,) = reference.truth(question)
        (values,), (bounds,) = truth.values, truth.value_bounds
        assert values[:3] == pytest.approx(np.exp([1.0, -2.0, 3.0]), rel=1e-15)
        assert (values[3], bounds[3]) == (FORMATS["float64"].largest, np.inf)
        assert np.all(bounds[:3] < 1e-14)


def test_what_is_not_used_has_no_range() -> None:
    """A side of `where` that overflows and is not chosen leaves a value, and NaN in reverse mode: the range,
    not a finding.
    """
    question = asked("def f(x):\n    return where(x < 1000.0, x, exp(x * x))\n", "float32", 20.0, ("rev",))
    (case,) = Evaluator().cases("engine", question, resolve("engine")[0].answer(question))
    assert np.isnan(case.answer.gradient["x"])
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.RANGE)
    assert case.conventions == ("dead-branch",)


@pytest.mark.parametrize(
    ("x", "modes", "got", "verdict"),
    [
        (120.0, ("fwd",), np.nan, Verdict.INCONCLUSIVE),
        (120.0, ("fwd",), 2.0, Verdict.DISAGREE),
        (120.0, ("rev",), np.nan, Verdict.DISAGREE),
        (1.5, ("fwd",), np.nan, Verdict.DISAGREE),
    ],
)
def test_a_tangent_of_0_times_an_infinite_slope(
    x: float, modes: tuple[Mode, ...], got: float, verdict: Verdict
) -> None:
    """Of tanh(inf) = 1 forward mode gives NaN by y as well, which nothing infinite depends on."""
    program = parse('def f(x: "float[2]", y):\n    return tanh((x * x) ** x), y\n')
    point = Point({"x": np.array([0.5, x]), "y": np.array(0.5)})
    question = plain_question(program, [point], "float64", None, modes)
    (right,) = resolve("engine")[0].answer(question)
    answer = replace(right, gradient={**right.gradient, "y": np.array(got)})
    (case,) = Evaluator().cases("another", question, [answer])
    assert case.verdict is verdict
    assert (case.reason is Reason.RANGE) == (verdict is Verdict.INCONCLUSIVE)

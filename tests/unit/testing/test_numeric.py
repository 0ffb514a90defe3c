"""Slopes measured on functions that can only be evaluated, next to closed forms: within their bounds, and
never surer than they may be.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.measuring.numeric import NumericTruth, judged_by_numbers
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.fuzzer.tolerance.differences import slope
from gradfuzz.libraries.autograd import AutogradLibrary
from gradfuzz.libraries.numpy import NumpyLibrary
from gradfuzz.oracles.base import ALONG, Answer, Doubt, Point, ProbedQuestion, Question, Truth
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse
from gradfuzz.testing import measure_gradient

ROUNDOFF = 2.0**-53

SMOOTH = {
    "sine": (math.sin, math.cos),
    "fast sine": (lambda x: math.sin(200.0 * x), lambda x: 200.0 * math.cos(200.0 * x)),
    "exponential": (math.exp, math.exp),
    "steep tanh": (lambda x: math.tanh(40.0 * x), lambda x: 40.0 / math.cosh(40.0 * x) ** 2),
    "square": (lambda x: x * x, lambda x: 2.0 * x),
    "far from 0": (lambda x: 1e9 + math.sin(x), math.cos),
    "a kink near by": (lambda x: abs(x - 0.5001) + x * x, lambda x: math.copysign(1.0, x - 0.5001) + 2.0 * x),
    "large": (lambda x: 1e200 * math.sin(x), lambda x: 1e200 * math.cos(x)),
    "small": (lambda x: 1e-200 * math.sin(x), lambda x: 1e-200 * math.cos(x)),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("x", [0.5, -1.25, 3.0, 1e-3])
def test_a_slope_lies_within_its_bound(name: str, x: float) -> None:
    f, exact = SMOOTH[name]
    found = slope(lambda t: f(x + t), abs(x), ROUNDOFF)
    assert found is not None
    assert not found.kink
    assert abs(found.value - exact(x)) <= found.bound
    if abs(x) > 0.1 and name in ("sine", "exponential", "square", "large", "small"):
        assert found.bound <= 1e-9 * abs(exact(x))


def test_a_random_slope_lies_within_its_bound(seed: int) -> None:
    """Sums of sines of random frequencies and phases."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        a, b, c = rng.normal(size=(3, 4)) * np.array([[1.0], [5.0], [3.0]])
        x = float(rng.normal())
        exact = math.fsum(a * b * np.cos(b * x + c))
        found = slope(lambda t, a=a, b=b, c=c, x=x: math.fsum(a * np.sin(b * (x + t) + c)), abs(x), ROUNDOFF)
        assert found is not None
        assert abs(found.value - exact) <= found.bound + 1e-13 * abs(exact)


@pytest.mark.parametrize(
    ("f", "left", "right"),
    [
        (abs, -1.0, 1.0),
        (lambda t: max(t, 0.0), 0.0, 1.0),
        (lambda t: math.sin(t) + 3.0 * max(-t, 0.0), -2.0, 1.0),
    ],
    ids=["abs", "relu", "sum"],
)
def test_a_kink_has_a_slope_on_either_side(f, left: float, right: float) -> None:
    found = slope(f, 1.0, ROUNDOFF)
    assert found is not None
    assert found.kink
    assert abs(found.left - left) <= found.bound + 1e-12
    assert abs(found.right - right) <= found.bound + 1e-12


@pytest.mark.parametrize("name", [n for n in SMOOTH if n not in ("a kink near by", "far from 0")])
@pytest.mark.parametrize("x", [0.5, -1.25, 3.0, 1e-3])
def test_rounding_to_float32_makes_no_kink(name: str, x: float) -> None:
    f, exact = SMOOTH[name]
    scale = f(x) or 1.0
    found = slope(lambda t: float(np.float32(f(x + t) / scale)), abs(x), 2.0**-24)
    assert found is not None
    assert not found.kink
    assert abs(found.value - exact(x) / scale) <= found.bound + 1e-6 * abs(exact(x) / scale)


def test_rounding_to_float32_hides_no_kink() -> None:
    """The slope of elu at 0 and left of it: 1 on the right, exp(t) on the left."""
    found = slope(lambda t: 1.0 if t > 0.0 else float(np.float32(math.exp(t))), 1.0 / 16.0, 2.0**-24)
    assert found is not None
    assert found.kink
    assert abs(found.left - 1.0) <= found.bound
    assert found.right == 0.0


def test_what_is_lost_to_rounding_is_flat() -> None:
    found = slope(lambda t: (0.5 + t + 1e16) - 1e16, 0.5, ROUNDOFF)
    assert found is not None
    assert found.flat


def test_noise_makes_the_bound_wide(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=10_000)
    found = slope(lambda t: math.sin(0.5 + t) + 1e-4 * noise[hash(t) % 10_000], 0.5, ROUNDOFF)
    assert found is not None
    assert abs(found.value - math.cos(0.5)) <= found.bound


def test_no_slope_where_the_value_is_not_finite() -> None:
    assert slope(lambda t: math.nan, 1.0, ROUNDOFF) is None


def decided(x: float) -> float:
    """It cannot be traced, as Python decides on a value."""
    if x > 1.0:
        return math.log(x)
    return math.sin(3.0 * x)


@pytest.mark.parametrize("x", [0.5, 2.5, 30.0, 1e-3])
def test_a_function_that_cannot_be_traced(x: float) -> None:
    measured = measure_gradient(decided, x, grad=lambda x: 1.0 / x if x > 1.0 else 3.0 * math.cos(3.0 * x))
    assert measured.verdict is Verdict.AGREE
    assert measured.method in ("complex step", "Richardson")
    assert measured.untraced
    exact = 1.0 / x if x > 1.0 else 3.0 * math.cos(3.0 * x)
    assert abs(float(measured.expected["x"]) - exact) <= float(measured.bound["x"])
    assert measure_gradient(decided, x, grad=lambda x: 1.0 / x if x > 1.0 else math.cos(3.0 * x)).wrong is (
        x < 1.0
    )


@pytest.mark.parametrize(("error", "wrong"), [(3e-8, False), (1e-5, True)])
def test_a_slope_is_known_to_no_more_digits_than_the_framework_computes(
    monkeypatch: pytest.MonkeyPatch, error: float, wrong: bool
) -> None:
    """MLX computes erfinv near 0 by one coefficient for float32: its values have no steps that tell."""

    def line(x):
        return np.sum((1.0 + error) * x if float(x[0].real) > -1.0 else x)  # it cannot be traced

    def measured():
        return measure_gradient(line, np.array([0.5, 1.25]), grad=lambda x: np.ones(2))

    assert measured().wrong
    monkeypatch.setattr(NumpyLibrary, "roundoff", 2.0**-24)
    assert measured().wrong is wrong


@pytest.mark.parametrize("roundoff", [0.0, 2.0**-24])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.0, Verdict.AGREE),
        (1.0, Verdict.INCONCLUSIVE),
        (1e-9, Verdict.INCONCLUSIVE),
        (math.inf, Verdict.INCONCLUSIVE),
        (math.nan, Verdict.DISAGREE),
    ],
)
def test_a_constant_has_the_derivative_0(
    monkeypatch: pytest.MonkeyPatch, roundoff: float, given: float, expected: Verdict
) -> None:
    """Whatever the framework rounds: the values do not move. Another answer is not called wrong, as rounding
    may hide what moves, but NaN is: it is the derivative of nothing.
    """
    monkeypatch.setattr(NumpyLibrary, "roundoff", roundoff)

    def steps(x):
        return np.sum(np.floor(x) if float(x[0].real) > -1.0 else x)  # it cannot be traced

    measured = measure_gradient(steps, np.array([0.5, 1.25]), grad=lambda x: np.full(2, given))
    assert measured.verdict is expected


class Flat(EngineOracle):
    """Its gradients have no axes but one."""

    def answer(self, question: Question) -> list[Answer]:
        return [
            replace(answer, gradient={name: g.ravel() for name, g in answer.gradient.items()})
            for answer in super().answer(question)
        ]


def test_a_gradient_of_a_wrong_shape_is_told_also_where_its_products_are_asked_for() -> None:
    program = parse('def f(x: "float[2, 2]"):\n    return sum(sin(x))\n')
    plain = plain_question(program, [Point({"x": np.ones((2, 2))})], "float64", None, ("rev",))
    question = ProbedQuestion.of(plain, [{"x": np.ones((2, 2))}])
    truth = Truth("ok", gradient={ALONG: np.array([4.0 * math.cos(1.0)])}, bounds={ALONG: np.array([1e-12])})
    flat: Any = Flat()
    (answer,) = flat.answer(plain)
    case = judged_by_numbers(flat, question, answer, NumericTruth(truth, "Richardson"))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.WRONG_SHAPE)


class Counting(EngineOracle):
    """How often it was asked, and its gradients times a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.asked = 0

    def answer(self, question: Question) -> list[Answer]:
        self.asked += 1
        return [
            replace(answer, gradient={name: self.factor * g for name, g in answer.gradient.items()})
            for answer in super().answer(question)
        ]

    def often(self, question: Question) -> Any:
        return lambda point: self.answer(replace(question, points=(point,)))[0]


@pytest.mark.parametrize(
    ("factor", "known", "expected", "again"),
    [
        (1.0, True, Verdict.AGREE, False),
        (1.5, True, Verdict.DISAGREE, True),
        (1.0, False, Verdict.INCONCLUSIVE, False),
    ],
    ids=["right", "wrong", "no truth"],
)
def test_the_noise_of_an_answer_is_measured_where_it_matters(
    factor: float, known: bool, expected: Verdict, again: bool
) -> None:
    program = parse('def f(x: "float[3]"):\n    return sum(sin(x))\n')
    question = plain_question(program, [Point({"x": X})], "float64", None, ("rev",))
    truth = Truth("ok", gradient={"x": np.cos(X)}, bounds={"x": np.full(3, 1e-12)})
    if not known:
        truth = Truth.unknown(Doubt.REFERENCES, "too noisy")
    oracle: Any = Counting(factor)
    (answer,) = oracle.answer(question)
    case = judged_by_numbers(oracle, question, answer, NumericTruth(truth, "Richardson"))
    assert case.verdict is expected
    assert (oracle.asked > 1) is again


X = np.array([0.5, 1.25, 2.0])


def test_complex_steps_that_contradict_each_other_replace_no_good_difference() -> None:
    """The imaginary part of what it returns for complex numbers is no derivative."""

    def softplus(x):
        y = np.log1p(np.exp(np.real(x))) if float(x[0].real) > 0.0 else 0.0 * x  # it cannot be traced
        return np.sum(y + 1j * np.sqrt(np.imag(x)) if np.iscomplexobj(x) else y)

    x = np.array([0.5, -1.25])
    measured = measure_gradient(softplus, x, grad=lambda x: 1.0 / (1.0 + np.exp(-x)))
    assert measured.verdict is Verdict.AGREE
    assert measured.method == "Richardson"


@pytest.mark.parametrize("wrong", [False, True])
def test_a_numpy_function_that_looks_at_its_dtype(wrong: bool) -> None:
    def parts(x):
        y = np.sin(x) if float(x[0].real) > 0.0 else np.cos(x)  # it cannot be traced
        return np.stack([y.real, y.imag], -1) if np.iscomplexobj(y) else y

    measured = measure_gradient(parts, X, grad=lambda x, c: c * (np.sin(x) if wrong else np.cos(x)))
    assert measured.verdict is (Verdict.DISAGREE if wrong else Verdict.AGREE), measured.reason
    assert measured.method == "Richardson"


@pytest.mark.parametrize("wrong", [False, True])
def test_a_torch_function_that_looks_at_its_dtype(wrong: bool) -> None:
    torch = pytest.importorskip("torch")

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (torch.sin(x) if wrong else torch.cos(x))

    def parts(x):
        y = Sine.apply(x) if len(x[x.real > 0.0]) else torch.cos(x)
        return torch.view_as_real(y) if y.is_complex() else y

    measured = measure_gradient(parts, torch.tensor(X))
    assert measured.verdict is (Verdict.DISAGREE if wrong else Verdict.AGREE), measured.reason
    assert measured.method == "Richardson"


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 0.0])
def test_one_entry_of_many_that_is_no_number(wrong: float) -> None:
    """A hundred entries are judged along directions, of which NaN spoils each."""
    x = np.linspace(0.25, 1.5, 100)
    sines = lambda x: np.sum(np.sin(x)) if float(x[0].real) > 0.0 else 0.0  # noqa: E731 - it cannot be traced
    assert measure_gradient(sines, x, grad=np.cos).verdict is Verdict.AGREE
    off = np.where(np.arange(100) == 41, wrong, np.cos(x))
    found = measure_gradient(sines, x, grad=lambda x: off)
    assert found.method != "traced"
    assert found.kind is (Class.MISSING if wrong == 0.0 else Class.NON_FINITE)


def test_a_convention_between_measured_slopes_is_not_wrong() -> None:
    def hinge(x: float) -> float:
        return float(x) if x > 0 else 0.0

    assert measure_gradient(hinge, 0.0, grad=lambda x: 0.25).verdict is Verdict.CONVENTION
    assert measure_gradient(hinge, 0.0, grad=lambda x: 2.0).verdict is Verdict.INCONCLUSIVE


def test_noise_in_the_function_is_inconclusive(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def noisy(x: float) -> float:
        return math.sin(x) + 1e-3 * float(rng.normal()) if x == x else 0.0

    assert measure_gradient(noisy, 0.5, grad=math.cos).verdict is not Verdict.DISAGREE


def test_a_second_derivative_is_measured_on_a_first_one_that_is_right() -> None:
    anp = pytest.importorskip("autograd.numpy")

    def f(x):
        return anp.sum(x**3) if anp.sum(x) > 0 else anp.sum(x)

    measured = measure_gradient(f, np.array([0.5, 1.25]), order=2, modes="rev")
    assert measured.verdict is Verdict.AGREE, measured.reason


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_a_second_derivative_is_measured_close_to_the_end_of_a_domain(factor: float, raises: bool) -> None:
    """There is no number above 0.505; the rule of the slope of x^3 is right, but for the factor."""
    anp = pytest.importorskip("autograd.numpy")
    extend = pytest.importorskip("autograd.extend")
    square = extend.primitive(lambda x: 3.0 * x**2)
    extend.defvjp(square, lambda ans, x: lambda g: factor * 6.0 * g * x)

    @extend.primitive
    def cube(x: Any) -> Any:
        if raises and x[0] > 0.505:
            raise ValueError
        return x**3 if x[0] < 0.505 else math.nan * x

    extend.defvjp(cube, lambda ans, x: lambda g: g * square(x))
    measured = measure_gradient(lambda x: anp.sum(cube(x)), np.array([0.5]), order=2, modes="rev")
    assert measured.verdict is (Verdict.AGREE if factor == 1.0 else Verdict.DISAGREE), measured.reason
    np.testing.assert_allclose(measured.got["x"], factor * measured.expected["x"], rtol=1e-6)


@pytest.mark.parametrize(
    ("roundoff", "expected"), [(0.0, Verdict.DISAGREE), (2.0**-24, Verdict.INCONCLUSIVE)]
)
def test_a_first_derivative_of_few_digits_hides_a_second_one(
    monkeypatch: pytest.MonkeyPatch, roundoff: float, expected: Verdict
) -> None:
    """The rule of 3 x returns 3, and the derivative of that is told as 1e-6."""
    anp = pytest.importorskip("autograd.numpy")
    extend = pytest.importorskip("autograd.extend")
    three = extend.primitive(lambda x: np.full_like(x, 3.0))
    extend.defvjp(three, lambda ans, x: lambda g: 1e-6 * g)
    line = extend.primitive(lambda x: 3.0 * x if float(x[0]) > -1.0 else x)  # it cannot be traced
    extend.defvjp(line, lambda ans, x: lambda g: g * three(x))
    monkeypatch.setattr(AutogradLibrary, "roundoff", roundoff)
    measured = measure_gradient(lambda x: anp.sum(line(x)), np.array([0.5, 1.25]), order=2, modes="rev")
    assert measured.verdict is expected

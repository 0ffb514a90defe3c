"""What is allowed, and what may be judged at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import Reason
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, Tolerance, tolerances, wide_tolerances
from gradfuzz.fuzzer.tolerance.lanes import LANES
from gradfuzz.fuzzer.tolerance.perturbed import EPS, PerturbedNamespace, unit_roundoff
from gradfuzz.oracles.base import Point, Question
from gradfuzz.programs import parse
from gradfuzz.programs.arithmetic.object_namespace import UndecidedError
from gradfuzz.programs.language.precision import FORMATS, Precision
from tests.excuses.planted import Changed, asked, judged

U = {"float32": 2.0**-24, "float64": 2.0**-53}


def ask(
    text: str, precision: str = "float64", modes: tuple[str, ...] = ("rev",), **inputs: Any
) -> list[Tolerance]:
    program = parse(text)
    values = {p.name: np.asarray(inputs[p.name]) for p in program.params}
    point = Point({k: v.astype(precision) if v.dtype.kind == "f" else v for k, v in values.items()})
    wrt = tuple(p.name for p in program.params if p.type.is_float)
    weights = tuple(np.ones(()) for _ in program.result.values)
    directions = {name: np.ones(values[name].shape) for name in wrt}
    return tolerances(Question(program, (point,), precision, wrt, modes, weights, directions))  # type: ignore[arg-type]


def only(text: str, **more: Any) -> Tolerance:
    (result,) = ask(text, **more)
    return result


def allowed(tolerance: Tolerance, name: str = "x") -> float:
    true = tolerance.gradient[name]
    return float(tolerance.allowed(true, tolerance.noise[name], np.zeros_like(true)).max())


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_product_is_granted_a_few_roundings(precision: str) -> None:
    t = only("def f(x):\n    return x * x * x\n", precision=precision, x=0.75)
    assert t.reason is None
    roundings = float(t.noise["x"]) / U[precision] / 1.6875
    assert 0.5 <= roundings <= 5
    assert allowed(t) == SAFETY * (float(t.noise["x"]) + U[precision] * 1.6875)


def test_a_sum_of_many_is_granted_as_many() -> None:
    few = only(
        "def f(x):\n    acc = x\n    for i in range(4):\n        acc = acc + x * x\n    return acc * acc\n",
        x=0.3,
    )
    many = only(
        "def f(x):\n    acc = x\n    for i in range(400):\n        acc = acc + x * x\n    return acc * acc\n",
        x=0.3,
    )
    relative = [float(t.noise["x"] / np.abs(t.gradient["x"])) / U["float64"] for t in (few, many)]
    assert relative[0] < 16
    assert relative[1] > 10 * relative[0]  # all additions may err the same way


def test_cancellation_is_granted_what_it_costs() -> None:
    t = only("def f(x):\n    return sin(x) * sin(x) + cos(x) * cos(x)\n", x=0.7)
    assert abs(float(t.gradient["x"])) < 1e-15
    assert 1e-17 < float(t.noise["x"]) < 1e-14


def test_a_structural_zero_is_granted_nothing() -> None:
    for text in (
        "def f(x):\n    return x - x\n",
        "def f(x):\n    return x * 0.0\n",
        "def f(x):\n    return 1.0\n",
    ):
        t = only(text, x=0.7)
        assert t.reason is None
        assert float(t.noise["x"]) == 0.0
        assert float(t.value_noise[0]) == 0.0


def test_saturation_drowns_the_derivative() -> None:
    t = only("def f(x):\n    return tanh(exp(x))\n", x=3.0)
    assert allowed(t) > abs(4 * np.exp(3.0 - 2 * np.exp(3.0)))


def test_every_entry_has_its_own_noise() -> None:
    t = only('def f(x: "float[3]"):\n    return sum(x * x * x)\n', x=[1e-8, 1.0, 1e8])
    relative = t.noise["x"] / np.abs(t.gradient["x"])
    assert np.all(relative < 8 * U["float64"])


def test_both_sides_of_a_decision_within_rounding() -> None:
    text = "def f(x):\n    y = x\n    if x * 3.0 > 0.3:\n        y = x * x\n    return y\n"
    assert only(text, x=0.1).reason is Reason.PRIMAL  # 0.1 * 3.0 is 0.30000000000000004 in float64
    assert only(text, precision="float32", x=0.1 + 1e-8).reason is Reason.PRIMAL
    assert only(text, x=0.1 + 1e-8).reason is None
    assert only(text, precision="float32", x=0.101).reason is None


def test_an_exact_tie_is_no_matter_of_rounding() -> None:
    text = "def f(x):\n    return maximum(x, 0.5)\n"
    assert only(text, x=0.5).reason is None  # a kink, which is for the references to say


@pytest.mark.parametrize(
    ("text", "x", "precision"),
    [
        ("def f(x):\n    return exp(x)\n", 800.0, "float64"),
        ("def f(x):\n    return exp(x)\n", 95.0, "float32"),
        ("def f(x):\n    return exp(-x) * exp(x)\n", 95.0, "float32"),
    ],
)
def test_what_overflows_may_be_anything(text: str, x: float, precision: str) -> None:
    tolerance = only(text, x=x, precision=precision)
    assert tolerance.leaves_range
    assert np.isinf(tolerance.noise["x"])


@pytest.mark.parametrize(
    ("text", "x", "precision", "slope"),
    [
        ("def f(x):\n    return x * x * x * x\n", 1e-10, "float32", 4e-30),
        ("def f(x):\n    return x * 1e-200 * 1e-200\n", 0.5, "float64", 0.0),
    ],
)
def test_what_underflows_may_be_0(text: str, x: float, precision: Precision, slope: float) -> None:
    """The slope itself may be a normal number: it is allowed what rounding and an underflow do to it."""
    tolerance = only(text, x=x, precision=precision)
    assert tolerance.leaves_range
    form = FORMATS[precision]
    assert form.normal / 2 < tolerance.noise["x"] < 8 * (form.normal + form.roundoff * slope)


def test_an_overflow_is_that_of_its_entry() -> None:
    text = 'def f(x: "float[3]"):\n    return exp(x)\n'
    tolerance = only(text, x=[1.0, 800.0, -800.0])
    assert np.isfinite(tolerance.noise["x"]).tolist() == [True, False, True]
    assert tolerance.noise["x"][0] < 1e-14


def test_in_range() -> None:
    assert only("def f(x):\n    return exp(x)\n", x=95.0).reason is None
    assert only("def f(x):\n    return x * x * x * x\n", x=1e-10).reason is None


def test_a_chaotic_computation_is_not_measured() -> None:
    assert only("def f(x):\n    return sin(x * 3.0)\n", x=2.0**60).reason is Reason.NOISE
    logistic = (
        "def f(x):\n    acc = x\n    for i in range(100):\n        acc = 3.9 * acc * (1.0 - acc)\n    return"
        " acc\n"
    )
    assert only(logistic, x=0.3).reason is Reason.NOISE
    assert only(logistic.replace("100", "10"), x=0.3).reason is None


def test_domain_and_trip_limit() -> None:
    endless = "def f(x):\n    acc = x\n    while acc > 0.0:\n        acc = acc + 1.0\n    return acc\n"
    assert only(endless, x=0.5).reason is Reason.TRIP_LIMIT
    assert only('def f(x: "float[2]"):\n    i = 5\n    return x[i]\n', x=[0.5, 1.0]).reason is Reason.DOMAIN


def test_points_together_are_as_points_alone() -> None:
    program = parse(
        'def f(x, n: "int"):\n    acc = 1.0\n    for i in range(n):\n        acc = sin(acc * x)\n    return'
        " acc\n"
    )
    points = [
        Point({"x": np.array(x), "n": np.array(n)})
        for x, n in ((0.5, 3), (2.0, 3), (-0.5, 3), (0.5, 2), (1e300, 3))
    ]

    def question(at: tuple[Point, ...]) -> Question:
        return Question(program, at, "float64", ("x",), ("rev",), (np.ones(()),), {"x": np.ones(())})

    together = tolerances(question(tuple(points)))
    for point, one in zip(points, together, strict=True):
        (alone,) = tolerances(question((point,)))
        assert alone.reason is one.reason
        assert {k: v.tolist() for k, v in alone.noise.items()} == {
            k: v.tolist() for k, v in one.noise.items()
        }


def test_another_way_to_write_the_derivative_may_lose_more() -> None:
    """The slope of tanh as 1 - y*y and as (1 - y)(1 + y): the second derivative of the latter cancels near
    zero.
    """
    program = parse("def f(x):\n    return tanh(x)\n")
    x = Point({"x": np.array(1e-9, np.float32)})
    question = Question(program, (x,), "float32", ("x",), ("fwd", "fwd"), (np.ones(()),), {"x": np.ones(())})
    (narrow,), (wide,) = tolerances(question), wide_tolerances(question)
    assert float(narrow.noise["x"]) < 1e-14
    assert float(wide.noise["x"]) > 1e-9


def wide(values: list[float]) -> Tolerance:
    """For the third derivative of a product, all forms of it."""
    program = parse(f'def f(x: "float[{len(values)}]"):\n    return prod(x)\n')
    point = Point({"x": np.array(values)})
    along = {"x": np.array([-0.875, *[1.75] * (len(values) - 1)])}
    (result,) = wide_tolerances(
        Question(program, (point,), "float64", ("x",), ("fwd", "fwd", "rev"), (np.ones(()),), along)
    )
    return result


def test_products_by_division_are_granted_their_rounding() -> None:
    """The third derivative of x_1 x_2 is a structural zero by the products of the others, and rounding of
    size x_1 x_2 / x_k^3 by division.
    """
    noise = wide([1.5, 0.5]).noise["x"]
    assert np.all(noise > 2.0**-54)
    assert np.all(noise < 2.0**-45)
    at_zero = wide([1.5, 0.5, 0.0])
    assert at_zero.reason is None
    assert np.all(at_zero.noise["x"] < 2.0**-45)
    assert np.any(at_zero.noise["x"] > 2.0**-54)


class TestPerturbedNamespace:
    def lanes(self, value: Any) -> Any:
        return np.repeat(np.asarray(value, np.float64)[..., np.newaxis], LANES, axis=-1)

    @pytest.mark.parametrize("precision", ["float32", "float64"])
    def test_spread_is_one_rounding(self, precision: Any) -> None:
        ns = PerturbedNamespace(precision)
        product = ns.multiply(self.lanes(3.0), self.lanes(7.0))
        assert product[0] == 21.0
        spread = np.abs(product - 21.0).max() * ns.scale / 21.0
        assert spread == pytest.approx(unit_roundoff(precision), rel=1e-3)

    def test_shape_operations_move_lanes_along(self) -> None:
        ns = PerturbedNamespace("float64")
        x = np.arange(6.0).reshape(2, 3)
        laned = self.lanes(x)
        for op, params, expected in (
            ("reshape", {"shape": (3, 2)}, x.reshape(3, 2)),
            ("permute_dims", {"axes": (1, 0)}, x.T),
            ("flip", {"axis": -1}, x[:, ::-1]),
            ("broadcast_to", {"shape": (4, 2, 3)}, np.broadcast_to(x, (4, 2, 3))),
        ):
            result = getattr(ns, op)(laned, **params)
            assert result.shape == (*expected.shape, LANES)
            np.testing.assert_array_equal(result[..., 0], expected)
        np.testing.assert_array_equal(ns.concat(laned, laned, axis=-1)[..., 0], np.concatenate([x, x], -1))
        np.testing.assert_array_equal(ns.stack(laned, laned, axis=-1)[..., 0], np.stack([x, x], -1))

    def test_folds_match_numpy(self) -> None:
        ns = PerturbedNamespace("float64")
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 5))
        laned = self.lanes(x)
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                for op in ("sum", "mean", "prod"):
                    result = getattr(ns, op)(laned, axis=axis, keepdims=keepdims)
                    np.testing.assert_allclose(
                        result[..., 0], getattr(np, op)(x, axis=axis, keepdims=keepdims), rtol=1e-13
                    )
        np.testing.assert_allclose(ns.cumulative_sum(laned, axis=-1)[..., 0], np.cumsum(x, -1), rtol=1e-13)
        for a, b in ((x, y), (y[0], rng.normal(size=5)), (x[0], y), (x[0, 0], y), (x, y[:, 0])):
            product = ns.matmul(self.lanes(a), self.lanes(b))
            np.testing.assert_allclose(product[..., 0], np.matmul(a, b), rtol=1e-12)
            assert product.shape[:-1] == np.matmul(a, b).shape

    def test_a_sum_is_granted_any_order(self) -> None:
        """1e8 - 1e8 + 1 is exact from left to right and off by 1 in another order, in float32."""
        ns = PerturbedNamespace("float32")
        total = ns.sum(self.lanes([1e8, -1e8, 1.0]), axis=None, keepdims=False)
        assert total[0] == 1.0
        assert np.abs(total - total[0]).max() > 1.0

    def test_comparisons(self) -> None:
        ns = PerturbedNamespace("float64")
        third = ns.divide(self.lanes(1.0), self.lanes(3.0))
        assert ns.less(third, self.lanes(0.5)) is True
        assert ns.equal(self.lanes(2.0), self.lanes(2.0)) is True
        with pytest.raises(UndecidedError):
            ns.less(third, self.lanes(1 / 3))
        with pytest.raises(UndecidedError):
            ns.maximum(third, self.lanes(1 / 3))

    def test_points_that_decide_differently(self) -> None:
        ns = PerturbedNamespace("float64", points=2)
        x = ns.inputs([np.array(1.0), np.array(3.0)])
        assert ns.less(x, ns.constant(5.0)) is True
        with pytest.raises(UndecidedError):
            ns.less(x, ns.constant(2.0))

    def test_ints_are_exact(self) -> None:
        ns = PerturbedNamespace("float64")
        np.testing.assert_array_equal(ns.add(np.arange(3), np.arange(3)), 2 * np.arange(3))
        np.testing.assert_array_equal(ns.multiply(2, np.arange(3)), 2 * np.arange(3))
        assert ns.astype(np.arange(3), dtype="float").shape == (3, LANES)

    def test_constants_are_rounded_to_the_precision(self) -> None:
        assert PerturbedNamespace("float32").constant(0.1)[0] == float(np.float32(0.1))
        assert PerturbedNamespace("float64").constant(0.1)[0] == 0.1

    def test_eps_stands_above_the_rounding_of_float64(self) -> None:
        assert all(eps > 2.0**10 * unit_roundoff("float64") for eps in EPS.values())


def test_determinants_by_the_inverse_are_granted_their_rounding() -> None:
    """Second derivatives of det(a) a^-H cancel where those of the minors do not: det of a 2 x 2 matrix is a
    sum of products of two entries.
    """
    program = parse('def f(a: "float[2, 2]"):\n    return det(a)\n')
    point = Point({"a": np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-6]])})  # a^-1 has entries of 64
    question = weighted_question(program, [point], "float64", ("rev", "rev"))
    (narrow,), (granted,) = tolerances(question), wide_tolerances(question)
    roundoff = np.finfo(np.float64).eps / 2
    assert np.all(narrow.noise["a"] < 8 * roundoff * np.abs(question.directions["a"]).max())
    assert np.all(granted.noise["a"] > 64 * roundoff)


def test_eigenvectors_by_a_masked_diagonal_are_granted_their_rounding() -> None:
    """The eigenvalue of x x^T is quadratic in x, its third derivative 0; by 1 / (gap + I) - I it is a
    rounding of 1 / |x|, by 1 / gap nothing.
    """
    program = parse('def f(x: "float[1, 2]"):\n    return eigvalsh(x @ permute_dims(x, (1, 0)))\n')
    x = np.array([[0.25, -0.75]])
    noises = []
    for scale in (1.0, 1024.0):
        question = weighted_question(program, [Point({"x": scale * x})], "float64", ("rev", "rev", "rev"))
        (narrow,), (granted,) = tolerances(question), wide_tolerances(question)
        assert np.all(narrow.noise["x"] == 0.0)
        noises.append(float(granted.noise["x"].max()))
    roundoff = np.finfo(np.float64).eps / 2
    assert roundoff < noises[0] < 256 * roundoff
    assert noises[1] == pytest.approx(noises[0] / 1024.0, rel=1e-3)


REGROUPED = """
def f(x):
    h = stack([x, x, x])
    i = 0
    while True:
        t = stack([h[2] / (2.0 + sin(h[2])) + exp(-(x * x)), sin(h[0]) + x])
        h = stack([t[0], t[1], t[0] * (x - x)])
        i = i + 1
        if not i < 17:
            break
    return h[0]
"""


def _acosh_slope(x: float) -> float:
    return 1.0 / math.sqrt((x + 1.0) * (x - 1.0))


@pytest.mark.parametrize(
    ("function", "x", "slope", "true"),
    [
        ("expm1(x)", -20.0, lambda x: np.expm1(x) + 1.0, math.exp(-20.0)),
        (
            "expit(x)",
            20.0,
            lambda x: _sigmoid(x) * (1.0 - _sigmoid(x)),
            math.exp(-20.0) / (1 + math.exp(-20.0)) ** 2,
        ),
        (
            "acosh(x)",
            1.001,
            lambda x: 1.0 / np.sqrt(x * x - 1.0),
            _acosh_slope(float(np.float32(1.001))),
        ),
    ],
)
def test_a_function_is_granted_the_slope_that_libraries_write(
    function: str, x: float, slope: Any, true: float
) -> None:
    """Slopes in float32 that lose digits where those of the engine do not, as a weight of one measures."""
    x = float(np.float32(x))
    program = parse(f"def f(x):\n    return {function}\n")
    point = Point({"x": np.asarray(x, np.float32)})
    asked = Question(program, (point,), "float32", ("x",), ("rev",), (np.ones(()),), {"x": np.ones(())})
    (narrow,), (granted,) = tolerances(asked), wide_tolerances(asked)
    loss = abs(float(slope(np.float32(x))) - true)
    assert allowed(narrow) < loss < allowed(granted)
    assert allowed(granted) < max(1e-5, 1e-2 * true), "a mistake of one percent shows, or of 1e-5"


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def test_contributions_may_be_added_in_any_order() -> None:
    """Reverse mode by hand, as a tape does it that adds what comes from `x - x` first and last: 0.25 and its
    negative do not meet at once, and what is between loses digits. That is rounding, and nobody's mistake.
    """
    x = 1e-8
    states = [(x, x, x)]
    for _ in range(17):
        a, _, c = states[-1]
        t = c / (2.0 + math.sin(c)) + math.exp(-x * x)
        states.append((t, math.sin(a) + x, t * (x - x)))
    slope, (p, q, r) = 0.0, (1.0, 0.0, 0.0)
    for a, _, c in reversed(states[:-1]):
        t = c / (2.0 + math.sin(c)) + math.exp(-x * x)
        whole = p + r * (x - x)
        for part in (r * t, whole * -2.0 * x * math.exp(-x * x), q, -(r * t)):
            slope += part
        p, q, r = (
            q * math.cos(a),
            0.0,
            whole * (2.0 + math.sin(c) - c * math.cos(c)) / (2.0 + math.sin(c)) ** 2,
        )
    slope += p + q + r
    one = np.ones(())
    asked = Question(
        parse(REGROUPED), (Point({"x": np.asarray(x)}),), "float64", ("x",), ("rev",), (one,), {"x": one}
    )
    (narrow,), (wide,) = tolerances(asked), wide_tolerances(asked)
    error = abs(slope - float(narrow.gradient["x"]))
    assert allowed(narrow) < error < allowed(wide) < 1e3 * error


@pytest.mark.parametrize("modes", [("rev", "rev"), ("rev", "fwd"), ("rev", "rev", "rev")])
def test_a_slope_by_a_quotient_is_granted_its_rounding(modes: tuple[Any, ...]) -> None:
    """Where the slope of |x| is x / |x|, the second derivative is 1 / |x| - x x / |x|^3: 0, and rounding."""
    program = parse("def f(x):\n    return abs(x)\n")
    roundoff = np.finfo(np.float64).eps / 2
    for x in (0.001, 1.25):
        question = weighted_question(program, [Point({"x": np.asarray(x)})], "float64", modes)
        (narrow,), (granted,) = tolerances(question), wide_tolerances(question)
        assert np.all(narrow.noise["x"] == 0.0)
        largest = math.factorial(len(modes)) / x ** (len(modes) - 1)
        assert roundoff * largest / 8 < granted.noise["x"] < 64 * roundoff * largest


@pytest.mark.parametrize("x", [1.5, -0.71, -1e4])
def test_an_entry_that_is_0_has_no_digits_to_lose(x: float) -> None:
    """Where the slope of copysign is y / x, the second derivative is y' / x - y / x^2: 0, and the rounding of
    two numbers 1 / x. The half of the digits that a sigmoid may lose is that of a number.
    """
    question = asked("copysign(x, 1.0)", ("rev", "rev"), x=x)
    off = 2.0**-53 / abs(x)
    for error, verdict in ((off, "agree"), (-off, "agree"), (1e-10, "disagree"), (1e-3, "disagree")):
        answer = Changed(lambda gradient, _, e=error: {"x": gradient["x"] + e})  # type: ignore[misc]
        assert judged(question, answer).verdict.value == verdict, error
    tail = asked("expit(x)", x=25.0)
    lossy = Changed(lambda gradient, _: {"x": gradient["x"] + 2.0**-54})
    assert judged(tail, lossy).verdict.value == "disagree", "six of its digits are left"

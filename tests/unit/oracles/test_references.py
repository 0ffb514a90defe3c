"""The references against what is known without them: closed forms, and slopes worked out by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from flint import arb, arb_series

from gradfuzz.oracles.base import Point, Question, Reference, Truth
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.arb_functions import atan2
from gradfuzz.oracles.references.arb_numbers import WideError
from gradfuzz.oracles.references.directions import lines
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs.text.parse import parse

REFERENCES = pytest.mark.parametrize("reference", [ArbReference(), MpmathReference()], ids=lambda r: r.name)
MPMATH = MpmathReference()


def question(
    text: str,
    at: Mapping[str, Any],
    *,
    order: int = 1,
    precision: Any = "float64",
    wrt: tuple[str, ...] = ("x",),
    weights: tuple[Any, ...] = (1.0,),
    directions: Mapping[str, Any] | None = None,
) -> Question:
    program = parse(text)
    kinds = {
        p.name: {"float": precision, "int": "int64", "bool": "bool"}[p.type.dtype] for p in program.params
    }
    point = Point({name: np.asarray(value, kinds[name]) for name, value in at.items()})
    v = {
        name: np.asarray((directions or {}).get(name, 1.0), np.float64) * np.ones(point.inputs[name].shape)
        for name in wrt
    }
    arrays = tuple(None if w is None else np.asarray(w, np.float64) for w in weights)
    return Question(program, (point,), precision, wrt, ("rev",) * order, arrays, v)


def ask(reference: Reference, text: str, at: Mapping[str, Any], **rest: Any) -> Truth:
    (truth,) = reference.truth(question(text, at, **rest))
    return truth


def loop(body: str, trips: int, start: str = "1.0", parameters: str = "x") -> str:
    return f"def f({parameters}):\n acc = {start}\n for i in range({trips}):\n  acc = {body}\n return acc\n"


def within(exact: Any, value: Any, bound: Any) -> None:
    """`exact` lies in the bound, and the bound is no wider than the rounding to float64 asks for."""
    assert (
        abs(exact - mpmath.mpf(float(value))) <= mpmath.mpf(float(bound)) + abs(exact) * mpmath.mpf(10) ** -40
    )
    assert float(bound) <= math.ulp(float(value)) + 1e-80


# Closed forms -----------------------------------------------------------------------------------------------

Closed = Callable[..., Any]


def repeated(body: Closed, trips: int, start: Closed = lambda x: mpmath.mpf(1)) -> Closed:
    def f(x: Any) -> Any:
        acc = start(x)
        for i in range(trips):
            acc = body(acc, x, i)
        return acc

    return f


CLOSED: dict[str, tuple[str, Closed]] = {
    "acc*x": (loop("acc*x", 3), lambda x: x**3),
    "acc/x": (loop("acc/x", 3), lambda x: x**-3),
    "acc*(x-2)": (loop("acc*(x-2)", 2), lambda x: (x - 2) ** 2),
    "sin(acc*x)": (loop("sin(acc*x)", 3), repeated(lambda acc, x, _: mpmath.sin(acc * x), 3)),
    "cos(acc)+x": (loop("cos(acc) + x", 5), repeated(lambda acc, x, _: mpmath.cos(acc) + x, 5)),
    "the counter": (loop("acc*x + i", 4), repeated(lambda acc, x, i: acc * x + i, 4)),
    "the start": (
        loop("tanh(acc*x)", 2, "exp(x)"),
        repeated(lambda acc, x, _: mpmath.tanh(acc * x), 2, mpmath.exp),
    ),
    "no trip": (loop("acc*x", 0, "x*x"), lambda x: x**2),
    "functions": (
        "def f(x):\n return tan(x) + log(x + 3) * sqrt(x + 3) + pow(x + 3, 0.75) + pow(2.5, x)\n",
        lambda x: (
            mpmath.tan(x) + mpmath.log(x + 3) * mpmath.sqrt(x + 3) + (x + 3) ** 0.75 + mpmath.mpf(2.5) ** x
        ),
    ),
    "powers": ("def f(x):\n return x**5 + x**-4 + x**0 + x**1\n", lambda x: x**5 + x**-4 + 1 + x),
    "choices": (
        "def f(x):\n return abs(x) * maximum(x, 7.0) + minimum(x*x, 9.0) + where(x > 0.25, x, x*x)\n",
        lambda x: abs(x) * 7 + x * x + (x if x > 0.25 else x * x),
    ),
    "a loop that stops by value": (
        "def f(x):\n acc = 1.0\n while acc < 10.0:\n  acc = acc*(1.5 + x*x)\n return acc\n",
        lambda x: (1.5 + x * x) ** {0.5: 5, -1.25: 3, 0.001: 6, 1.75: 2}[float(x)],
    ),
}


@REFERENCES
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("x", [0.5, -1.25, 0.001, 1.75])
@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(reference: Reference, name: str, x: float, order: int) -> None:
    text, closed = CLOSED[name]
    v = -0.75
    truth = ask(reference, text, {"x": x}, order=order, directions={"x": v})
    assert truth.status == "ok"
    with mpmath.workdps(60):
        within(closed(mpmath.mpf(x)), truth.values[0], truth.value_bounds[0])
        within(
            mpmath.diff(closed, mpmath.mpf(x), order) * mpmath.mpf(v) ** (order - 1),
            truth.gradient["x"],
            truth.bounds["x"],
        )


@REFERENCES
def test_the_numbers_of_the_seed_reports(reference: Reference) -> None:
    assert ask(reference, loop("acc*x", 3), {"x": 0.5}).gradient["x"] == 0.75
    assert ask(reference, loop("acc*(x-2)", 2), {"x": 0.5}).gradient["x"] == -3.0
    assert float(ask(reference, loop("sin(acc*x)", 3), {"x": 0.5}).gradient["x"]) == pytest.approx(
        0.67859, abs=5e-6
    )


@REFERENCES
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_several_inputs(reference: Reference, order: int) -> None:
    """g_i is the sum over all j, k, ... of d_i d_j d_k ... f v_j v_k ..."""

    def closed(x: Any, y: Any) -> Any:
        return mpmath.sin(x * y) + x**3 * y**2

    at, v = (0.5, -1.5), (2.0, -0.75)
    truth = ask(
        reference,
        "def f(x, y):\n return sin(x*y) + x**3*y**2\n",
        dict(zip("xy", at, strict=True)),
        order=order,
        wrt=("x", "y"),
        directions=dict(zip("xy", v, strict=True)),
    )
    with mpmath.workdps(120):
        for i, name in enumerate("xy"):
            exact = mpmath.mpf(0)
            for others in itertools.product(range(2), repeat=order - 1):
                counts = tuple((i, *others).count(k) for k in range(2))
                exact += mpmath.diff(closed, at, counts) * math.prod(v[j] for j in others)
            assert abs(exact - float(truth.gradient[name])) <= float(truth.bounds[name]) + 1e-35
            assert float(truth.bounds[name]) <= math.ulp(float(truth.gradient[name]))


@REFERENCES
def test_one_input_at_a_time(reference: Reference) -> None:
    truth = ask(reference, loop("acc*x + y", 2, parameters="x, y"), {"x": 3.0, "y": 5.0}, wrt=("y",))
    assert {n: g.item() for n, g in truth.gradient.items()} == {"y": 4.0}


@REFERENCES
def test_arrays_and_weights(reference: Reference) -> None:
    """F = w . A A y + c sum(A): dF/dy = (A A)^T w, dF/dA = w (A y)^T + A^T w y^T + c."""
    a, y, w, c = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]), np.array([0.5, -2.0]), 3.0
    text = (
        'def f(a: "float[2,2]", y: "float[2]"):\n for i in range(2):\n  y = matmul(a, y)\n return y,'
        " sum(a), 7\n"
    )
    truth = ask(reference, text, {"a": a, "y": y}, wrt=("a", "y"), weights=(w, c, None))
    assert [v.tolist() for v in truth.values] == [(a @ a @ y).tolist(), 10.0, 7.0]
    assert truth.gradient["y"].tolist() == ((a @ a).T @ w).tolist()
    assert truth.gradient["a"].tolist() == (np.outer(w, a @ y) + np.outer(a.T @ w, y) + c).tolist()
    assert truth.gradient["a"].dtype == truth.bounds["a"].dtype == np.float64


@REFERENCES
def test_a_vector_carry_rebuilt_from_its_components(reference: Reference) -> None:
    text = 'def f(v: "float[2]"):\n for i in range(3):\n  v = stack(v[1] * v[0], v[0])\n return v\n'
    truth = ask(reference, text, {"v": [2.0, 3.0]}, wrt=("v",), weights=([1.0, 10.0],))
    # (a, b) -> (ab, a) -> (a^2 b, ab) -> (a^3 b^2, a^2 b)
    assert truth.gradient["v"].tolist() == [3 * 4 * 9 + 10 * 2 * 2 * 3, 2 * 8 * 3 + 10 * 4]


@REFERENCES
def test_the_value_alone(reference: Reference) -> None:
    truth = ask(
        reference,
        "def f(x):\n return sqrt(x), x > 1, maximum(x, 0.0)\n",
        {"x": 0.0},
        order=0,
        weights=(1.0, None, 1.0),
    )
    assert truth.status == "ok"
    assert [v.item() for v in truth.values] == [0.0, 0.0, 0.0]
    assert truth.gradient == {}


@REFERENCES
def test_constants_are_rounded_to_the_precision_of_the_question(reference: Reference) -> None:
    for precision in ("float32", "float64"):
        truth = ask(reference, "def f(x):\n return 0.1*x\n", {"x": 1.0}, precision=precision)
        assert truth.gradient["x"] == float(np.dtype(precision).type(0.1))


@REFERENCES
@pytest.mark.parametrize("x", [1e-12, -1e-12, 1e-170, 3e-300, 1e6, 1e90, 0.0])
def test_every_scale_of_input(reference: Reference, x: float) -> None:
    truth = ask(reference, "def f(x):\n return x*x*x + 5.0*x\n", {"x": x})
    exact = 3 * Fraction(x) ** 2 + 5
    assert abs(Fraction(float(truth.gradient["x"])) - exact) <= Fraction(float(truth.bounds["x"]))
    assert float(truth.bounds["x"]) <= math.ulp(float(exact))


@REFERENCES
def test_a_slope_far_below_the_value(reference: Reference) -> None:
    """tanh(110) is 1 - 6e-96: with fewer than a hundred digits it would be 1, and the slope 0."""
    truth = ask(reference, "def f(x):\n return tanh(110.0*x) - 1.0\n", {"x": 1.0})
    with mpmath.workdps(150):
        within(110 * mpmath.sech(110) ** 2, truth.gradient["x"], truth.bounds["x"])


@REFERENCES
@pytest.mark.parametrize("expression", ["logaddexp(x, 0.0)", "log(1.0 + exp(x))"])
def test_a_value_far_below_what_it_is_made_of(reference: Reference, expression: str) -> None:
    """1 + exp(-600) is 1 with fewer than 260 digits, and its logarithm 0."""
    truth = ask(reference, f"def f(x):\n return {expression}\n", {"x": -600.0})
    with mpmath.workdps(600):
        within(mpmath.log1p(mpmath.exp(-600)), truth.values[0], truth.value_bounds[0])
        within(1 / (1 + mpmath.exp(600)), truth.gradient["x"], truth.bounds["x"])


# Kinks ------------------------------------------------------------------------------------------------------

KINKS: dict[str, tuple[str, dict[str, float], dict[str, float], dict[str, float]]] = {
    "abs at 0": ("abs(x)", {"x": 0.0}, {"x": -1.0}, {"x": 1.0}),
    "a tie": ("maximum(2*x, y)", {"x": 1.0, "y": 2.0}, {"x": 0.0, "y": 0.0}, {"x": 2.0, "y": 1.0}),
    "minimum at a tie": ("minimum(x, 3*x)", {"x": 0.0}, {"x": 3.0}, {"x": 1.0}),
    "where at its edge": ("where(x > 1.0, 5*x, x + 4)", {"x": 1.0}, {"x": 1.0}, {"x": 5.0}),
    "one of two inputs": ("abs(x) + 3*y", {"x": 0.0, "y": 2.0}, {"x": -1.0, "y": 3.0}, {"x": 1.0, "y": 3.0}),
}


@pytest.mark.parametrize("name", KINKS)
def test_a_kink_has_two_slopes(name: str) -> None:
    expression, at, left, right = KINKS[name]
    text = f"def f({', '.join(at)}):\n return {expression}\n"
    truth = ask(MPMATH, text, at, wrt=tuple(at))
    assert (truth.status, truth.kink) == ("inconclusive", True)
    assert truth.message.startswith("kink")
    assert truth.left is not None
    assert truth.right is not None
    assert {n: s.item() for n, s in truth.left.items()} == pytest.approx(left, abs=1e-40)
    assert {n: s.item() for n, s in truth.right.items()} == pytest.approx(right, abs=1e-40)
    enclosure = ask(ArbReference(), text, at, wrt=tuple(at))
    assert (enclosure.status, enclosure.kink) == ("inconclusive", True)


def test_a_smooth_touch_is_a_kink_with_equal_slopes_and_has_a_derivative() -> None:
    text = "def f(x):\n return maximum(x*x, 0.0)\n"
    truth = ask(MPMATH, text, {"x": 0.0})
    assert truth.kink
    assert truth.left is not None
    assert truth.right is not None
    assert truth.left["x"].item() == pytest.approx(truth.right["x"].item(), abs=1e-40)
    assert ask(ArbReference(), text, {"x": 0.0}).gradient["x"] == 0.0
    assert ask(ArbReference(), text, {"x": 0.0}, order=2).kink


def test_a_decision_that_changes_nearby_is_never_taken_for_an_equal_one() -> None:
    """x*x*x vanishes to second order at 0, and still both branches lie next to it."""
    for value in ("y", "sign(x*x*x) + x"):
        text = f"def f(x):\n y = 2.0*x\n if x*x*x < 0.0:\n  y = 1.0\n return {value}\n"
        truth = ask(ArbReference(), text, {"x": 0.0})
        assert (truth.status, truth.kink) == ("inconclusive", True)


@REFERENCES
@pytest.mark.parametrize(
    "expression",
    ["maximum(1.0*x, x)", "maximum(x + 0, x)", "minimum(x/1, x - 0)", "abs(0*x) + x", "maximum(x, x)"],
)
def test_what_is_the_same_number_is_no_tie(reference: Reference, expression: str) -> None:
    truth = ask(reference, f"def f(x):\n return {expression}\n", {"x": 0.5})
    assert (truth.status, truth.gradient["x"].item()) == ("ok", 1.0)


@REFERENCES
@pytest.mark.parametrize("x", [1e-12, -1e-12, 5e-324])
def test_next_to_a_kink_there_is_none(reference: Reference, x: float) -> None:
    truth = ask(reference, "def f(x):\n return abs(x)\n", {"x": x})
    assert (truth.status, truth.gradient["x"].item()) == ("ok", math.copysign(1.0, x))


@REFERENCES
def test_a_changing_trip_count_is_a_kink(reference: Reference) -> None:
    text = "def f(x):\n acc = 1.0\n while acc < 8.0:\n  acc = acc*x\n return acc\n"
    truth = ask(reference, text, {"x": 2.0})
    assert (truth.status, truth.kink, truth.left, truth.right) == ("inconclusive", True, None, None)
    assert truth.message.startswith("kink")
    beside = ask(reference, text, {"x": 2.5})
    assert (beside.status, beside.gradient["x"].item(), beside.trace) == ("ok", 18.75, (3,))


def test_smooth_slopes_are_the_gradient() -> None:
    truth = ask(MPMATH, loop("sin(acc*x)", 3), {"x": 0.5})
    assert truth.left == truth.right == truth.gradient
    assert not truth.kink


@REFERENCES
def test_the_trace_has_decisions_selections_and_trip_counts(reference: Reference) -> None:
    text = (
        "def f(x):\n acc = abs(x)\n for i in range(2):\n  if acc > 1.0:\n   acc = acc*x\n  acc = maximum(acc,"
        " 2.0)\n return acc\n"
    )
    assert ask(reference, text, {"x": -0.5}).trace == (-1, 0, -1, 1, -1, 2)


# What cannot be told ----------------------------------------------------------------------------------------

UNTOLD = {
    "log": ("log(x)", -1.0, "domain: log of -1.0"),
    "sqrt": ("sqrt(x)", 0.0, "domain: sqrt of 0"),
    "division": ("1.0/x", 0.0, "domain: division by 0"),
    "negative power of 0": ("x**-2", 0.0, "domain: division by 0"),
    "power": ("pow(x, 2.0)", -1.0, "domain: pow of -1.0"),
    "input": ("x", math.nan, "domain: the input x is nan"),
    "constant": ("x + 1e999", 1.0, "domain: the constant inf"),
    "index": ("array([1.0, 2.0])[n] * x", 1.0, "domain: index 3 is outside axis 0"),
    "value": ("x*x", 1e200, "range: "),
    "tower": ("exp(exp(exp(exp(x))))", 5.0, "range: "),
    "wave": ("sin(exp(exp(exp(x*2.0))))", 5.0, "range: "),
}


@REFERENCES
@pytest.mark.parametrize("name", UNTOLD)
def test_what_cannot_be_told_says_why(reference: Reference, name: str) -> None:
    expression, x, message = UNTOLD[name]
    truth = ask(reference, f'def f(x, n: "int"):\n return {expression}\n', {"x": x, "n": 3})
    assert truth.status == "inconclusive"
    assert truth.message.startswith(message)
    assert not truth.kink


@REFERENCES
def test_an_endless_loop_is_inconclusive(reference: Reference) -> None:
    truth = ask(reference, "def f(x):\n while x < 1.0:\n  x = x*0.5\n return x\n", {"x": 0.5})
    assert truth.message.startswith("trip limit: line 2: ")


@REFERENCES
def test_points_are_judged_one_by_one(reference: Reference) -> None:
    asked = question("def f(x):\n return log(x)\n", {"x": 2.0})
    points = tuple(Point({"x": np.asarray(x)}) for x in (2.0, -1.0, 4.0))
    truths = reference.truth(
        Question(asked.program, points, "float64", ("x",), ("fwd",), asked.weights, asked.directions)
    )
    assert [t.status for t in truths] == ["ok", "inconclusive", "ok"]
    assert truths[2].gradient["x"] == 0.25


@REFERENCES
def test_the_libraries_settings_are_left_alone(reference: Reference) -> None:
    before = mpmath.mp.prec, flint.ctx.prec, flint.ctx.cap
    ask(reference, loop("sin(acc*x)", 3), {"x": 0.5}, order=2)
    ask(reference, "def f(x):\n return log(x)\n", {"x": -1.0})
    assert (mpmath.mp.prec, flint.ctx.prec, flint.ctx.cap) == before


# Every op ---------------------------------------------------------------------------------------------------

OPS = [
    "a + b",
    "a - x * b",
    "a * b",
    "a / b",
    "-a",
    "a**3 + a**-2 + a**0",
    "pow(a, b)",
    "sin(a) * cos(b)",
    "tan(a)",
    "tanh(a) + tanh(-b)",
    "tanh(20.0 * a) + tanh(-20.0 * b)",
    "exp(a) * log(b)",
    "sqrt(a)",
    "abs(a - b)",
    "sign(a - b) * a",
    "maximum(a, b)",
    "minimum(a, x)",
    "where(a > b, a * a, b * x)",
    "a * sum(b) + sum(a * b)",
    "sum(stack(a, b * a), axis=0) * prod(b)",
    "prod(stack(a, b), axis=1)[0] * a",
    "mean(a) * b",
    "cumulative_sum(a * b)",
    "cumulative_sum(stack(a, b), axis=1)[1]",
    "reshape(stack(a, b), (4,))[1:3] * b",
    "broadcast_to(x, (2,)) * a",
    "permute_dims(stack(a, b), (1, 0))[0] * a",
    "flip(a) * b",
    "concat(a[1:2], b[0:1]) * a",
    "stack(a[1] * b[0], x)",
    "stack(a, b)[n - 1] * b",
    "index_update(a, sin(a[0]) * b[n], n - 1)",
    "index_update(stack(a, b), a * a, n, slice(0, 2))[1] * b",
    "matmul(a, b) * a",
    "matmul(stack(a, b), a)",
    "matmul(a, stack(a * a, b))",
    "matmul(stack(a, b), stack(b, a))[0]",
    "a * n + array([1.0, 2.0]) * array([3, 4])",
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("expression", OPS)
def test_both_references_agree_on_every_op(expression: str, order: int) -> None:
    text = f'def f(a: "float[2]", b: "float[2]", x, n: "int"):\n return {expression}\n'
    at = {"a": [0.5, 1.25], "b": [0.75, 0.875], "x": 1.125, "n": 1}
    rest = {
        "order": order,
        "wrt": ("a", "b", "x"),
        "weights": ([1.0, -0.75],),
        "directions": {"a": [1.0, -2.0], "b": [0.5, 0.25]},
    }
    arb, differences = (ask(reference, text, at, **rest) for reference in (ArbReference(), MPMATH))  # type: ignore[arg-type]
    assert arb.status == differences.status == "ok"
    assert any(np.any(slope) for slope in arb.gradient.values()) or order == 2
    for name, value in arb.gradient.items():
        assert np.all(abs(value - differences.gradient[name]) <= arb.bounds[name] + differences.bounds[name])
        assert np.all(arb.bounds[name] <= np.spacing(abs(value)) + 1e-300)


# Polarisation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(1, 8))
def test_polarisation_is_exact(order: int) -> None:
    """On the form D(a, b, ...) = prod of (m . a), p(d) = (m . d)^k is known and so is D(e_i, v, ..., v)."""
    m, v = (Fraction(3), Fraction(-2)), (Fraction(1, 2), Fraction(5))
    for i, shares in enumerate(lines(order, 2)):
        total = Fraction(0)
        for line in shares:
            d = [
                (v[j] if line.along_direction else 0) + (line.multiple if j == line.probe else 0)
                for j in range(2)
            ]
            total += line.weight * (m[0] * d[0] + m[1] * d[1]) ** order
        assert total == m[i] * (m[0] * v[0] + m[1] * v[1]) ** (order - 1)


def test_the_angle_of_wide_bounds_is_not_known() -> None:
    """The square of a ball that excludes 0 may contain it."""
    y = arb_series([arb("1 +/- 0.9"), 1])
    assert arb(y[0]) > 0
    with pytest.raises(WideError, match="too wide to divide by"):
        atan2(arb_series([arb("0.5 +/- 0.4"), 1]), y)

"""Right answers that rounding, or the range of float32, puts far from the truth are not called wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import Rules
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Class, Reason, Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.oracles.base import Answer, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.mutant import recorded
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing import measure_gradient
from tests.excuses.planted import asked as planted_question
from tests.excuses.planted import judged, saying, times

QUOTIENTS = parse(
    """def f(x):
    acc = x
    b = 1.0
    for i in range(15):
        t = acc + 1.0
        acc = t * (b + 2.0)
        b = t / (acc * acc)
    return acc
"""
)
"""The denominator grows to 1e16 and more, and its fourth power is not in the range of float32."""

HUGE_SINE = parse(
    """def f(x):
    acc = stack([1.0, 1.0, 1.0])
    for i in range(10):
        tiny = (stack([1.0, sin(acc[0]), 1.0])[1:3] * i)[0] * -1e-11
        acc = stack([tiny + sum(acc[0:2] * acc[1:3]), x, 1.0])
    return acc
"""
)
"""The sine of 1e18 has no right digit, and adds a hundred billionth of itself."""


def asked(program: Any, x: Any, precision: Any, modes: Any, target: Any) -> Any:
    question = plain_question(program, [Point({"x": np.asarray(x, precision)})], precision, None, modes)
    (case,) = check_question(question, [target]).cases
    return case


@pytest.mark.parametrize("x", [0.5, 10.0])
@pytest.mark.parametrize(
    "modes", [("fwd", "rev", "fwd"), pytest.param(("rev", "rev", "rev"), marks=pytest.mark.slow)]
)
def test_the_range_of_float32_is_no_mistake_of_jax(x: float, modes: Any) -> None:
    pytest.importorskip("jax")
    target = next(o for o in resolve("jax") if o.name == "jax:scan:nojit")
    case = asked(QUOTIENTS, x, "float32", modes, target)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "right in float64" in case.message
    assert asked(QUOTIENTS, x, "float64", modes, target).verdict is Verdict.AGREE


CANCELLING = parse(
    """def f(x: "float[2]", y):
    acc = 1.0
    for i in range(2):
        acc = acc + y * astype(y < y * x[i], float)
    return acc
"""
)
"""1 + y, at x = [0.5, 2]: one term is y below 0, the other y above it, and neither at 0."""


def test_jumps_that_cancel_are_no_mistake() -> None:
    points = [Point({"x": np.array([0.5, 2.0]), "y": np.array(y)}) for y in (0.0, 0.25)]
    question = plain_question(CANCELLING, points, "float64", ("y",), ("rev",))
    at_the_jump, beside = check_question(question, [EngineOracle()]).cases
    assert float(at_the_jump.answer.gradient["y"]) == 0.0
    assert at_the_jump.verdict is Verdict.CONVENTION
    assert beside.verdict is Verdict.AGREE


@pytest.mark.parametrize("modes", [("rev",), ("fwd",)])
def test_a_sine_without_digits_is_no_mistake_of_the_engine(modes: Any) -> None:
    assert asked(HUGE_SINE, 100.0, "float64", modes, EngineOracle()).verdict is Verdict.AGREE


POWERS = parse(
    """def f(x):
    acc = 1.0
    for i in range(5):
        t = acc * (x - 2.0)
        acc = t * t
    return acc
"""
)
"""The power of x - 2 to 62."""


QUOTIENT = parse("def f(x):\n    y = x * x\n    return 1.0 / (y * y)\n")


@pytest.mark.parametrize(
    ("program", "precision", "xs", "reason"),
    [
        (POWERS, "float32", (-1e-18, -2.0), Reason.NOISE),
        (QUOTIENT, "float64", (0.5, 1e-60), Reason.RANGE),
    ],
)
def test_a_point_beside_whose_derivative_overflows_is_no_mistake(
    program: Any, precision: Any, xs: tuple[float, float], reason: Reason
) -> None:
    """The gradient of a sum over all points: infinity less infinity at one is NaN at all."""
    pytest.importorskip("jax")
    target = next(o for o in resolve("jax", together=True) if o.name == "jax:grad_of_vmap")
    modes = ("fwd", "rev", "fwd")
    points = [Point({"x": np.asarray(x, precision)}) for x in xs]
    question = plain_question(program, points, precision, None, modes)
    assert np.isnan(target.answer(question)[0].gradient["x"])
    case, overflows = check_question(question, [target]).cases
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, reason)
    assert (overflows.verdict, overflows.reason) == (Verdict.INCONCLUSIVE, Reason.RANGE)
    (case,) = check_question(plain_question(program, points[:1], precision, None, modes), [target]).cases
    assert case.verdict is Verdict.AGREE


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_point_beside_one_without_a_derivative_is_no_mistake(library: str) -> None:
    """Equal singular values make the tangents NaN, also along 0, and so the sum over both points."""
    pytest.importorskip(library)
    ways = resolve(library, together=True)
    target = next(way for way in ways if way.name == f"{library}:grad_of_vmap")
    program = parse('def f(x: "float[2, 2]"):\n    return sum(svdvals(x))\n')
    points = [Point({"x": np.array([[6.0, 4.0], [4.0, 6.0]])}), Point({"x": np.eye(2)})]
    question = plain_question(program, points, "float64", None, ("rev", "fwd"))
    assert np.isnan(target.answer(question)[0].gradient["x"]).all()
    case, equal = check_question(question, [target]).cases
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.DOMAIN)
    assert (equal.verdict, equal.reason) == (Verdict.INCONCLUSIVE, Reason.DOMAIN)
    alone = plain_question(program, points[:1], "float64", None, ("rev", "fwd"))
    (case,) = check_question(alone, [target]).cases
    assert case.verdict is Verdict.AGREE


NEARLY_SINGULAR = [
    [0.0064276885, -0.0038515467, -0.007894603, -0.0029400901],
    [0.26106495, -0.15647241, -0.3203907, -0.119591795],
    [0.514492, -0.30998653, -0.6298789, -0.23610073],
    [-0.025956484, 0.017151536, 0.030354364, 0.012296678],
]
"""Its condition number is 5e7: in float32 its inverse has no right digit."""


@pytest.mark.slow
def test_a_determinant_by_the_inverse_of_a_nearly_singular_matrix_is_no_mistake() -> None:
    pytest.importorskip("jax")
    program = parse('def f(x: "float[4, 4]"):\n    return det(x)\n')
    target = next(o for o in resolve("jax") if o.name == "jax:scan:nojit")
    modes = ("rev", "rev", "fwd")
    case = asked(program, np.array(NEARLY_SINGULAR), "float32", modes, target)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "right in float64" in case.message


INVERSES = parse("def f(x):\n    t = 1.0 / x\n    return t / (t * t)\n")
"""Of 1e-8, the cube of t * t is not in the range of float32, and its square is."""

ITERATED = parse(
    """def f(x):
    acc = 0.5
    for i in range(8):
        t = acc / x
        acc = t / (1.0 + t * t)
    return acc
"""
)
"""What float64 has of the second derivative at -1e-8 are its first digits."""


def test_a_quotient_whose_powers_leave_the_range_is_no_mistake() -> None:
    pytest.importorskip("autograd")
    (target,) = resolve("autograd")
    case = asked(INVERSES, -1e-8, "float32", ("fwd", "rev"), target)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "right in float64" in case.message


def test_what_float64_does_not_tell_is_no_mistake() -> None:
    pytest.importorskip("jax")
    target = next(o for o in resolve("jax") if o.name == "jax:fori_loop")
    case = asked(ITERATED, -1e-8, "float32", ("fwd", "rev"), target)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "in float64 the answer at the same inputs cannot be judged either" in case.message


PHASE = parse(
    """def f(x, y: "float[1, 1]"):
    t = complex(x, y)
    return imag(svd(t)[0] @ svd(t)[2])
"""
)
"""y / |z| for z = x + iy. Its second derivative by x is -1/|y|^2 where y is large."""


@pytest.mark.parametrize(
    ("size", "verdict", "reason"),
    [(1e8, Verdict.DISAGREE, None), (1e103, Verdict.INCONCLUSIVE, Reason.RANGE)],
)
def test_no_precision_is_wider_than_float64(size: float, verdict: Verdict, reason: Reason | None) -> None:
    """autograd's svd loses the digits of x at both sizes. At the larger one the derivative is 1e-206."""
    pytest.importorskip("autograd")
    point = Point({"x": np.array(0.5), "y": np.array([[size]])})
    question = plain_question(PHASE, [point], "float64", None, ("rev", "rev"))
    (case,) = check_question(question, resolve("autograd")).cases
    assert (case.verdict, case.reason) == (verdict, reason)


class Doubled(EngineOracle):
    """Each of two largest entries has all of the slope."""

    def answer(self, question: Question) -> list[Answer]:
        right = super().answer(question)
        return [replace(a, gradient={"x": np.ones_like(a.gradient["x"])}) for a in right]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_wrong_answer_at_a_kink_is_judged_by_the_slopes_on_both_sides(precision: Any) -> None:
    program = parse('def f(x: "float[2]"):\n    return amax(x)\n')
    case = asked(program, [0.5, 0.5], precision, ("rev",), Doubled("engine:doubled"))
    assert case.verdict is Verdict.DISAGREE
    assert "the slopes on both sides of the kink are 1 and 1" in case.message


class Off(ReverseMode):
    """The slope of a quotient is one per cent too large."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        return [p if p is None or node.op != "divide" else recorded(p * 1.01) for p in parts]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_rule_that_is_wrong_by_a_hundredth_is_wrong(precision: Any, order: int) -> None:
    target = EngineOracle("engine:off", Rules(reverse=Off))
    program = parse("def f(x):\n    for i in range(3):\n        x = x / (1.0 + x * x)\n    return x\n")
    for modes in itertools.product(("rev", "fwd"), repeat=order):
        if "rev" in modes:
            assert asked(program, 0.75, precision, modes, target).verdict is Verdict.DISAGREE


class Blurred(EngineOracle):
    """Right to all but a few digits. The error is a part of the derivative, or `of` another number: the same
    everywhere, or one that the last bits of the input decide.
    """

    def __init__(self, part: float, *, by_chance: bool, of: float | None = None) -> None:
        super().__init__("engine:blurred")
        self.part, self.by_chance, self.of = part, by_chance, of

    def answer(self, question: Question) -> list[Answer]:
        right = super().answer(question)
        return [self._blurred(a, p) for a, p in zip(right, question.points, strict=True)]

    def _blurred(self, answer: Answer, point: Point) -> Answer:
        dtype = point.inputs["x"].dtype
        bits = int(point.inputs["x"].reshape(1).view(f"i{dtype.itemsize}")[0])
        part = self.part * ((bits % 8) - 3.5 if self.by_chance else 1.0)
        right = answer.gradient["x"]
        return replace(answer, gradient={"x": (right + (self.of or right) * part).astype(dtype)})


PRODUCTS = parse("def f(x):\n    return x * sin(x) * sin(x * x)\n")
ROUGHLY = {"float64": 2e-13, "float32": 8e-5}
"""Errors between ten and a hundred times what is allowed."""


@pytest.mark.parametrize("by_chance", [True, False])
@pytest.mark.parametrize("precision", ROUGHLY)
def test_what_is_left_of_terms_that_cancel_is_wrong_only_if_it_is_steady(
    precision: Any, by_chance: bool
) -> None:
    program = parse("def f(x):\n    return x * sin(x) - sin(x) * x\n")
    target = Blurred(0.2 * ROUGHLY[precision], by_chance=by_chance, of=1.0)
    case = asked(program, 1.3, precision, ("rev",), target)
    if by_chance:
        assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
        assert "the last bits" in case.message
    else:
        assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.SPURIOUS)


@pytest.mark.parametrize("precision", ROUGHLY)
def test_digits_that_are_lost_everywhere_are_a_class_of_their_own(precision: Any) -> None:
    case = asked(PRODUCTS, 1.3, precision, ("rev",), Blurred(ROUGHLY[precision], by_chance=False))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.PRECISION)
    assert 10.0 < case.error_over_allowed < 100.0


@pytest.mark.parametrize("precision", ROUGHLY)
def test_digits_that_are_lost_by_chance_may_be_lost_to_rounding(precision: Any) -> None:
    case = asked(PRODUCTS, 1.3, precision, ("rev",), Blurred(ROUGHLY[precision], by_chance=True))
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "last bits" in case.message


def test_digits_that_are_lost_by_far_are_lost() -> None:
    case = asked(PRODUCTS, 1.3, "float64", ("rev",), Blurred(1e-10, by_chance=True))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.PRECISION)


class Cancelling(EngineOracle):
    """The engine, to whose gradient by one input a multiple of that input is added and subtracted again."""

    def __init__(self, by: str, times: float) -> None:
        super().__init__("engine:cancelling")
        self.by, self.times = by, times

    def answer(self, question: Question) -> list[Answer]:
        right = super().answer(question)
        return [self._lossy(a, p) for a, p in zip(right, question.points, strict=True)]

    def _lossy(self, answer: Answer, point: Point) -> Answer:
        large = self.times * point.inputs[self.by]
        lossy = (answer.gradient[self.by] + large) - large
        return replace(answer, gradient={**answer.gradient, self.by: lossy})


@pytest.mark.parametrize("times", [1e9, 1e11])
def test_large_numbers_that_cancel_lose_digits(times: float) -> None:
    case = asked(PRODUCTS, 1.3, "float64", ("rev",), Cancelling("x", times))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.PRECISION)
    assert abs(case.ratio - 1.0) > FORMATS["float64"].half_of_the_digits


def test_an_entry_may_be_off_by_what_the_largest_is_rounded_by() -> None:
    program = parse("def f(x, y):\n    return sin(x) + 1e-12 * sin(y)\n")
    point = Point({"x": np.asarray(0.5), "y": np.asarray(1.3)})
    question = plain_question(program, [point], "float64", None, ("rev",))
    (case,) = check_question(question, [Cancelling("y", 1.0)]).cases
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert "small compared with the largest entry" in case.message
    (case,) = check_question(question, [Cancelling("y", 1e3)]).cases
    assert case.verdict is Verdict.DISAGREE


@pytest.mark.parametrize(
    "op", ["cholesky(x)", "cholesky(x, upper=True)", "solve(x, x)", "inv(x)", "qr(x)[1]"]
)
def test_whether_a_matrix_is_singular_may_be_rounding(op: str) -> None:
    class Failing(EngineOracle):
        def answer(self, question: Question) -> list[Answer]:
            right = super().answer(question)
            return [replace(a, values=tuple(np.full_like(y, np.nan) for y in a.values)) for a in right]

    near = [[0.6807999, 0.5199415], [0.5199415, 0.39709052]]
    program = parse(f'def f(x: "float[2, 2]"):\n    return {op}\n')
    case = asked(program, near, "float32", ("rev",), Failing("engine:failing"))
    assert case.verdict is Verdict.INCONCLUSIVE
    case = asked(program, [[0.68, 0.52], [0.52, 0.5]], "float32", ("rev",), Failing("engine:failing"))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.WRONG_PRIMAL)


@pytest.mark.slow
def test_functions_are_judged_in_the_same_way() -> None:
    jax = pytest.importorskip("jax")

    def quotients(x):
        acc, b = x, 1.0
        for _ in range(15):
            t = acc + 1.0
            acc = t * (b + 2.0)
            b = t / (acc * acc)
        return acc

    with jax.enable_x64(True):
        measured = measure_gradient(quotients, jax.numpy.asarray(10.0, "float32"), order=3, modes="rev")
    assert measured.verdict in (Verdict.AGREE, Verdict.INCONCLUSIVE), measured.reason


@pytest.mark.parametrize(
    ("text", "inputs", "factor", "slope"),
    [
        ("(x - x / 1.0) * (x - x / 1.0)", {"x": 0.9}, 0.5, 0.0),  # chaotic by what rounding may do
        ("floor(x / y) * x", {"x": 0.3, "y": 0.1}, 1.1, 2.0),  # 0.3 is below three times 0.1
        ("where(x / y < 3.0, x * x, x * y)", {"x": 0.3, "y": 0.1}, 0.5, 0.6),
    ],
)
def test_what_is_right_to_the_last_bits_is_right_whatever_rounding_may_do(
    text: str, inputs: dict[str, float], factor: float, slope: float
) -> None:
    """Another slope is not, by however little; where rounding decides nothing it is wrong."""
    question = planted_question(text, **inputs)
    assert judged(question).verdict is Verdict.AGREE
    assert judged(question, saying(x=slope)).verdict is Verdict.AGREE
    assert judged(question, saying(x=slope + 1e-9)).verdict is Verdict.INCONCLUSIVE
    if len(inputs) > 1:
        beside = planted_question(text, x=factor * inputs["x"], y=inputs["y"])
        assert judged(beside, times(1.0 + 1e-9)).verdict is Verdict.DISAGREE


class AtOnePoint(EngineOracle):
    """Answers at 0.5 alone, with a derivative that is off by 1e-13."""

    def supports(self, question: Question) -> str | None:
        others = any(float(point.inputs["x"]) != 0.5 for point in question.points)
        return "only 0.5 is answered" if others else super().supports(question)

    def answer(self, question: Question) -> list[Answer]:
        found = super().answer(question)
        return [replace(a, gradient={n: g * (1.0 + 1e-13) for n, g in a.gradient.items()}) for a in found]


def test_where_no_point_beside_can_be_asked_none_excuses() -> None:
    case = asked(parse("def f(x):\n    return x * x\n"), 0.5, "float64", ("rev",), AtOnePoint())
    assert case.verdict is Verdict.DISAGREE
    assert case.error_over_allowed < 100.0

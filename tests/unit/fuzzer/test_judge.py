"""Verdicts on hand-made truths, tolerances and answers: no oracle and no reference is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, Tolerance
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.judge import judge
from gradfuzz.oracles.base import Answer, Doubt, LibraryLimit, Point, Question, Truth, check_name
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse

SQUARE = parse("def f(x):\n    return x * x\n")
MAXIMUM = parse("def f(x):\n    return maximum(x, 0.0)\n")
TWO_KINKS = parse("def f(x):\n    return maximum(x, 0.0) - abs(x) * 0.5\n")
BRANCH = parse("def f(x):\n    y = 0.0\n    if x > 0.0:\n        y = x\n    return y\n")
U = 2.0**-53
NOISE = 2 * U
ALLOWED = SAFETY * (NOISE + U)


def question(
    program: Any = SQUARE, x: Any = 0.5, modes: tuple[str, ...] = ("rev",), precision: str = "float64"
) -> Question:
    point = Point({"x": np.array(x, precision)})
    return Question(program, (point,), precision, ("x",), modes, (np.ones(()),), {"x": np.ones(())})  # type: ignore[arg-type]


def truth(value: float = 0.25, slope: float = 1.0, bound: float = 0.0) -> Truth:
    return Truth(
        "ok",
        values=(np.array(value),),
        value_bounds=(np.array(0.0),),
        gradient={"x": np.array(slope)},
        bounds={"x": np.array(bound)},
    )


def kink(left: float, right: float, value: float = 0.0, bound: float = 0.0) -> Truth:
    return Truth(
        "inconclusive",
        values=(np.array(value),),
        value_bounds=(np.array(0.0),),
        left={"x": np.array(left)},
        right={"x": np.array(right)},
        side_bounds={"x": np.array(bound)},
        kink=True,
        message="kink: decisions or slopes change at this point",
    )


def tolerance(noise: float = NOISE, value_noise: float = NOISE, precision: str = "float64") -> Tolerance:
    gradient, values = {"x": np.array(1.0)}, (np.array(0.25),)
    return Tolerance(precision, None, "", values, (np.array(value_noise),), gradient, {"x": np.array(noise)})  # type: ignore[arg-type]


def answer(value: float = 0.25, slope: Any = 1.0, dtype: str = "float64") -> Answer:
    return Answer("ok", (np.array(value, dtype),), {"x": np.array(slope, dtype)})


def verdict(
    given: Answer, true: Truth | None = None, granted: Tolerance | None = None, asked: Question | None = None
) -> CheckResult:
    true, granted = true or truth(), granted or tolerance()
    if granted.reason is None and true.status == "ok":  # the engine computes what is true
        granted = replace(granted, values=true.values, gradient=true.gradient)
    return judge("target", asked or question(), 0, given, true, granted)


def test_agreement() -> None:
    case = verdict(answer(slope=1.0 + U * 2))
    assert case.verdict is Verdict.AGREE
    assert case.error_over_allowed == pytest.approx(2 * U / ALLOWED)
    assert float(case.allowed["x"]) == ALLOWED


def test_disagreement() -> None:
    case = verdict(answer(slope=1.25))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.WRONG_VALUE)
    assert (case.expected, case.got, case.ratio, case.worst) == (1.0, 1.25, 1.25, ("x", ()))


@pytest.mark.parametrize(
    ("true", "got", "kind", "ratio"),
    [
        (0.75, 1.3125, Class.WRONG_VALUE, 1.75),
        (-3.0, 3.25, Class.SIGN_FLIP, -3.25 / 3),
        (-0.5, 1.328125, Class.SIGN_FLIP, -2.65625),
        (-3.0, 0.1875, Class.WRONG_VALUE, -0.0625),
        (-3.0, 90.0, Class.RATIO_BLOWUP, -30.0),
        (3e-6, 1.000001000001, Class.RATIO_BLOWUP, 333_333.666667),
        (0.0, 0.5, Class.SPURIOUS, None),
        (0.75, 0.0, Class.MISSING, 0.0),
        (0.75, np.nan, Class.NON_FINITE, None),
        (0.75, np.inf, Class.NON_FINITE, None),
    ],
)
def test_classes(true: float, got: float, kind: Class, ratio: float | None) -> None:
    case = verdict(answer(slope=got), truth(slope=true), tolerance(noise=NOISE * abs(true)))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, kind)
    assert case.ratio == (None if ratio is None else pytest.approx(ratio))


def test_a_structural_zero_is_granted_nothing() -> None:
    assert verdict(answer(slope=0.0), truth(slope=0.0), tolerance(noise=0.0)).verdict is Verdict.AGREE
    assert verdict(answer(slope=-0.0), truth(slope=0.0), tolerance(noise=0.0)).verdict is Verdict.AGREE
    assert verdict(answer(slope=5e-324), truth(slope=0.0), tolerance(noise=0.0)).kind is Class.SPURIOUS


def test_a_near_miss_is_not_called() -> None:
    near = verdict(answer(slope=1.0 + 0.9 * CLEAR * ALLOWED))
    assert (near.verdict, near.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)
    assert verdict(answer(slope=1.0 + 1.1 * CLEAR * ALLOWED)).verdict is Verdict.DISAGREE


def test_agreement_with_noise_says_nothing() -> None:
    case = verdict(answer(slope=2e-16), truth(slope=1e-17), tolerance(noise=1e-16))
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)


def test_far_beyond_noise_is_wrong_whatever_the_noise() -> None:
    case = verdict(answer(slope=1.0), truth(slope=1e-17), tolerance(noise=1e-16))
    assert (case.verdict, case.kind) == (Verdict.DISAGREE, Class.SPURIOUS)


def test_a_zero_within_noise_agrees() -> None:
    assert verdict(answer(slope=1e-16), truth(slope=0.0), tolerance(noise=1e-16)).verdict is Verdict.AGREE


def test_what_is_zero_within_its_bound_is_no_derivative_that_noise_could_drown() -> None:
    """A ball around 0 has a middle that is not 0."""
    case = verdict(answer(slope=0.0), truth(slope=1e-308, bound=2e-308), tolerance(noise=1e-16))
    assert case.verdict is Verdict.AGREE
    case = verdict(answer(slope=0.0), truth(slope=3e-308, bound=2e-308), tolerance(noise=1e-16))
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)


def test_a_wide_bound_is_no_truth() -> None:
    case = verdict(answer(), truth(bound=1e-3))
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.REFERENCES)


@pytest.mark.parametrize(
    ("doubt", "words", "reason"),
    [
        (Doubt.DOMAIN, "log of -1", Reason.DOMAIN),
        (Doubt.RANGE, "1e400 is beyond float64", Reason.RANGE),
        (Doubt.TRIP_LIMIT, "a loop is still running", Reason.TRIP_LIMIT),
        (Doubt.REFERENCES, "they contradict each other", Reason.REFERENCES),
        (Doubt.WIDE, "nothing agrees", Reason.REFERENCES),
    ],
)
def test_without_truth(doubt: Doubt, words: str, reason: Reason) -> None:
    truth = Truth.unknown(doubt, words)
    case = verdict(answer(slope=1.0 if doubt is Doubt.DOMAIN else 99.0), truth)
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, reason)
    assert case.message == f"{doubt.value}: {words}"
    assert truth.words == words


@pytest.mark.parametrize("reason", [Reason.PRIMAL, Reason.RANGE, Reason.NOISE])
def test_what_rounding_may_turn_is_not_judged(reason: Reason) -> None:
    case = verdict(answer(slope=99.0), granted=Tolerance("float64", reason, "why"))
    assert (case.verdict, case.reason, case.message) == (Verdict.INCONCLUSIVE, reason, "why")


def test_unsupported_and_crashed() -> None:
    assert verdict(Answer("unsupported", message="no reverse mode")).verdict is Verdict.UNSUPPORTED
    crashed = verdict(Answer("error", message="TypeError: no"))
    assert (crashed.verdict, crashed.kind) == (Verdict.CRASHED, Class.ERROR)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        *((reason, Verdict.CRASHED) for reason in (Reason.DOMAIN, Reason.KINK, Reason.NOISE)),
        *((reason, Verdict.INCONCLUSIVE) for reason in (Reason.PRIMAL, Reason.RANGE, Reason.TRIP_LIMIT)),
    ],
)
def test_an_exception_in_the_place_of_a_known_derivative(reason: Reason, expected: Verdict) -> None:
    """It needs no tolerance, unless rounding, the range or a loop that is given up may be what raises."""
    case = verdict(Answer("error", message="IndexError: 3"), granted=Tolerance("float64", reason, "why"))
    assert case.verdict is expected
    assert verdict(answer(slope=99.0), granted=Tolerance("float64", reason, "why")).reason is reason


def test_a_crash_where_nothing_is_defined_is_nobodys_fault() -> None:
    case = verdict(Answer("error", message="ValueError: no"), Truth.unknown(Doubt.DOMAIN, "log of -1"))
    assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.DOMAIN)


def test_shape_and_dtype() -> None:
    assert verdict(answer(slope=[1.0])).kind is Class.WRONG_SHAPE
    assert verdict(answer(dtype="float32")).kind is Class.WRONG_DTYPE
    assert verdict(replace(answer(), values=())).kind is Class.WRONG_SHAPE
    assert verdict(replace(answer(), gradient={})).kind is Class.WRONG_SHAPE


def test_float32_is_judged_by_its_own_roundoff() -> None:
    asked = question(precision="float32")
    granted = tolerance(noise=2.0**-23, value_noise=2.0**-23, precision="float32")
    assert (
        verdict(answer(slope=1.0 + 2.0**-22, dtype="float32"), granted=granted, asked=asked).verdict
        is Verdict.AGREE
    )
    assert (
        verdict(answer(slope=1.001, dtype="float32"), granted=granted, asked=asked).kind is Class.WRONG_VALUE
    )


def test_a_wrong_value_comes_before_a_wrong_derivative() -> None:
    case = verdict(answer(value=0.5, slope=9.0))
    assert (case.verdict, case.kind, case.worst) == (Verdict.DISAGREE, Class.WRONG_PRIMAL, ("output 0", ()))
    near = verdict(answer(value=0.25 + 2 * SAFETY * (NOISE + U * 0.25), slope=9.0))
    assert (near.verdict, near.reason) == (Verdict.INCONCLUSIVE, Reason.PRIMAL)


def test_a_documented_limit_makes_a_wrong_derivative_a_convention() -> None:
    """It excuses no wrong value and no exception."""
    limit = LibraryLimit("dynamic-loop", "loops are not replayed", "https://example.org/manual")
    wrong = replace(answer(slope=2.0), limit=limit)
    case = verdict(wrong)
    assert (case.verdict, case.kind) == (Verdict.CONVENTION, None)
    assert case.conventions == ("dynamic-loop",)
    assert case.message == "loops are not replayed, as documented: https://example.org/manual"
    assert verdict(replace(answer(), limit=limit)).verdict is Verdict.AGREE
    assert verdict(replace(answer(value=0.5), limit=limit)).kind is Class.WRONG_PRIMAL
    assert verdict(Answer("error", message="ValueError", limit=limit)).verdict is Verdict.CRASHED


def test_a_value_alone() -> None:
    asked = question(modes=())
    assert verdict(Answer("ok", (np.array(0.25),)), asked=asked).verdict is Verdict.AGREE
    assert verdict(Answer("ok", (np.array(0.75),)), asked=asked).kind is Class.WRONG_PRIMAL


def test_nan_is_wrong_unless_rounding_may_be_larger_than_the_derivative() -> None:
    """As where two eigenvalues lie closer than the working precision tells: a division by their gap may end
    anywhere.
    """
    sharp = verdict(answer(slope=np.nan))
    assert (sharp.verdict, sharp.kind) == (Verdict.DISAGREE, Class.NON_FINITE)
    drowned = verdict(answer(slope=np.nan), granted=tolerance(noise=0.25))
    assert (drowned.verdict, drowned.reason) == (Verdict.INCONCLUSIVE, Reason.NOISE)


class TestKinks:
    def at(self, program: Any, slope: float, true: Truth, **more: Any) -> CheckResult:
        return verdict(answer(value=0.0, slope=slope), true, asked=question(program, 0.0, **more))

    @pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
    def test_between_the_slopes_is_a_convention(self, slope: float) -> None:
        assert self.at(MAXIMUM, slope, kink(0.0, 1.0)).verdict is Verdict.CONVENTION

    @pytest.mark.parametrize("slope", [-0.25, 1.25, 2.0, np.nan])
    def test_outside_is_wrong(self, slope: float) -> None:
        case = self.at(MAXIMUM, slope, kink(0.0, 1.0))
        assert case.verdict is Verdict.DISAGREE

    @pytest.mark.parametrize(("slope", "expected"), [(0.0, Verdict.CONVENTION), (1e-40, Verdict.DISAGREE)])
    def test_slopes_that_are_zero_within_their_bound_allow_zero(
        self, slope: float, expected: Verdict
    ) -> None:
        """As those of x * abs(x): a one-sided difference has a truncation error, and the slope 0 has no size
        of its own to hide it.
        """
        true = kink(1e-52, 1e-52, bound=1e-49)
        asked = question(MAXIMUM, 0.0)
        assert (
            verdict(answer(value=0.0, slope=slope), true, tolerance(noise=0.0), asked=asked).verdict
            is expected
        )

    def test_what_two_choices_at_once_may_make_is_not_judged(self) -> None:
        case = self.at(TWO_KINKS, 0.0, kink(0.5, 0.5))
        assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.KINK)

    @pytest.mark.parametrize("slope", [7.0, -0.75, np.nan])
    def test_what_no_two_choices_make_is_wrong(self, slope: float) -> None:
        """maximum(x, 0) - abs(x) / 2 has the slopes 0 to 1, minus -1/2 to 1/2."""
        case = self.at(TWO_KINKS, slope, kink(0.5, 0.5))
        assert case.verdict is Verdict.DISAGREE
        assert case.expected == pytest.approx(1.5 if slope > 0.0 else -0.5, rel=1e-7)

    @pytest.mark.parametrize(
        ("slope", "expected"), [(0.0, Verdict.CONVENTION), (1.0, Verdict.CONVENTION), (7.0, Verdict.DISAGREE)]
    )
    def test_a_branch_takes_one_side(self, slope: float, expected: Verdict) -> None:
        assert self.at(BRANCH, slope, kink(0.0, 1.0)).verdict is expected

    def test_of_a_jump_the_sides_are_known_and_nothing_between(self) -> None:
        true = replace(kink(0.0, 1.0), left=None, right=None)
        case = self.at(MAXIMUM, 0.5, true)
        assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.KINK)
        assert self.at(MAXIMUM, 7.0, true).verdict is Verdict.DISAGREE

    def test_second_order_is_not_judged(self) -> None:
        case = self.at(MAXIMUM, 7.0, kink(0.0, 1.0), modes=("rev", "fwd"))
        assert (case.verdict, case.reason) == (Verdict.INCONCLUSIVE, Reason.KINK)


@pytest.mark.parametrize(
    ("modes", "name"),
    [
        ((), "value"),
        (("rev",), "vjp"),
        (("fwd",), "jvp"),
        (("rev", "fwd"), "forward over reverse"),
        (("rev", "rev", "fwd"), "forward over reverse over reverse"),
    ],
)
def test_names_of_checks(modes: tuple[str, ...], name: str) -> None:
    assert check_name(modes) == name


def test_every_entry_has_its_own_tolerance() -> None:
    program = parse('def f(x: "float[2]"):\n    return sum(x * x * x)\n')
    x = np.array([1e-6, 1.0])
    asked = Question(
        program, (Point({"x": x}),), "float64", ("x",), ("rev",), (np.ones(()),), {"x": np.ones(2)}
    )
    slopes = 3 * x * x
    true = Truth("ok", (np.array(1.0),), (np.array(0.0),), {"x": slopes}, {"x": np.zeros(2)})
    noise: Mapping[str, Any] = {"x": slopes * NOISE}
    granted = Tolerance("float64", None, "", (np.array(1.0),), (np.array(NOISE),), {"x": slopes}, noise)
    wrong = Answer("ok", (np.array(1.0),), {"x": slopes + np.array([1e-20, 0.0])})
    case = judge("target", asked, 0, wrong, true, granted)
    assert (case.verdict, case.worst) == (Verdict.DISAGREE, ("x", (0,)))


def test_singular_values_that_the_precision_cannot_tell_apart_are_no_question_about_their_gap() -> None:
    """Near a matrix of rank 1 the smaller two are rounding in float32, where the engine's gap is closed, and
    1e-3 apart in float64.
    """
    program = parse('def f(a: "float[3, 3]"):\n    s = svdvals(a)\n    return s * s\n')
    rank_one = np.outer([1.0, 0.5, -0.75], [0.25, -1.0, 0.5])
    near = (rank_one + np.diag([3e-8, 2e-8, 5e-8])).astype(np.float32)
    question = weighted_question(program, [Point({"a": near})], "float32", ("fwd", "fwd"))
    (case,) = Evaluator().cases("engine", question, EngineOracle().answer(question))
    assert np.isnan(case.answer.gradient["a"]).any()
    assert case.verdict is Verdict.INCONCLUSIVE
    assert case.reason is Reason.PRIMAL

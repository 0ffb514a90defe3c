"""Plants beside the excuses of the verdict on a program: no truth, kinks, near misses, bounds, references."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from gradfuzz.fuzzer.conventions.convention import Convention
from gradfuzz.fuzzer.conventions.table import CONVENTIONS
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.tolerance.allowed import Tolerance
from gradfuzz.fuzzer.verdict.checking import LazyAnswers, check_answers
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.judge import judge
from gradfuzz.fuzzer.verdict.truth import Truths
from gradfuzz.oracles.base import Answer, Doubt, LibraryLimit, Point, Question, Truth
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs import parse
from gradfuzz.programs.arithmetic.linalg_objects import LinalgObjects
from tests.excuses.planted import Changed, Planted, asked, judged, saying, times
from tests.excuses.registry import EXCUSES, Excuse, excuse, planted_elsewhere

JUDGE = "fuzzer/verdict/judge.py"
ROWS = "fuzzer/conventions/"
NAN = np.nan

planted_elsewhere(
    "The gradient by a symmetric part is not known where that by the other triangle is not. The others are"
    " judged.",
    (
        "tests/unit/calls/test_conventions.py"
        "::test_the_symmetric_part_beside_a_triangle_about_which_nothing_is_known",
    ),
    f"{ROWS}predicted.py by_the_symmetric_part: inf",
)

planted_elsewhere(
    "NaN of forward mode where a number inside the program is infinite. Another number there is found, and so"
    " is NaN in reverse mode, or where all numbers are finite.",
    ("tests/unit/programs/test_range.py::test_a_tangent_of_0_times_an_infinite_slope",),
    f"{JUDGE} _judge_gradient: Reason.RANGE",
)

# Conventions ------------------------------------------------------------------------------------------------

_IN_2X2 = ((1.0, 0.0), (0.0, 0.0))

AT_THE_POINT: Mapping[str, tuple[int, Any]] = {
    "abs-at-0": (0, 1.5),
    "modulus-at-0": (0, 1.5),
    "maximum-tie": (1, 2.0),
    "clip-at-its-edge": (0, 2.0),
    "extreme-tie": (0, (1.0, 1.0, 0.0)),
    "sort-tie": (0, (0.0, 1.0, 1.0)),
    "threshold": (0, 2.0),
    "norm-at-0": (0, (NAN, 3.0)),
    "largest-of-a-norm": (0, (1.0, -1.0)),
    "symmetric-part": (0, _IN_2X2),
    "conjugate": (0, -2.0),
}
"""By the name of a row the number of an example, and a derivative that is wrong at its very point."""

BESIDE: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "cumulative-max-tie": (0, {"x": (2.0, 2.5, 1.0)}),
    "spectral-norm": (2, {"x": ((2.0, 0.0), (0.0, 1.0))}),
    "count-of-nonzeros": (0, {"x": (0.5, 1.0)}),
    "sign-at-0": (0, {"x": 0.25}),
    "index-tie": (0, {"x": (0.5, 1.0)}),
    "branch-cut": (0, {"y": 0.25, "x": -1.0}),
    "pivot-tie": (0, {"x": ((1.0, 2.0), (0.5, 4.0))}),
    "sqrt-at-0": (1, {"x": 0.25}),
    "log-at-0": (0, {"x": 0.25}),
    "end-of-domain": (0, {"x": 0.5}),
    "beyond-the-domain": (2, {"x": 1.5, "y": 2.0}),
    "pow-at-0": (2, {"x": 0.25}),
    "division-by-0": (0, {"x": 0.25}),
    "dead-branch": (0, {"x": 0.25}),
    "repeated-eigenvalue": (0, {"x": ((1.0, 0.0), (0.0, 2.0))}),
    "repeated-singular-value": (0, {"x": ((1.0, 0.0), (0.0, 0.5))}),
    "singular-matrix": (0, {"x": ((1.0, 2.0), (2.0, 5.0))}),
    "rank-deficient": (0, {"x": ((1.0, 0.0), (0.0, 0.5))}),
    "not-positive-definite": (0, {"x": ((1.0, 0.5), (0.5, 1.0))}),
}
"""Of rows at which the point itself tells nothing: a point next to it, where the program is smooth."""

NO_CHOICE = ("symmetric-part", "conjugate")
"""Programs are asked so that these leave nothing to choose: the answer agrees, and nothing is excused."""


@functools.cache
def _evaluator() -> Evaluator:
    return Evaluator()


def _at_example(row: Convention, number: int, at: Mapping[str, Any] | None = None) -> Question:
    example = row.examples[number]
    point = Point({name: np.array(value, np.float64) for name, value in (at or example.at).items()})
    return plain_question(parse(example.text), [point], "float64", [next(iter(example.at))], ("rev",))


def _of_convention(row: Convention) -> Planted:
    """The answer of the ledger, and beside it one that is wrong at the point or at a neighbour."""
    number, wrong = AT_THE_POINT.get(row.name, (BESIDE.get(row.name, (0,))[0], None))
    question, example = _at_example(row, number), row.examples[number]
    (first,) = question.wrt
    right = judged(question, saying(**{first: example.answers["engine"]}), _evaluator())
    reached = row.name in (NO_CHOICE if right.conventions == () else right.conventions)
    if row.name in AT_THE_POINT:
        found = judged(question, saying(**{first: wrong}), _evaluator())
        return Planted(right, "agree" if row.name in NO_CHOICE else "convention", (found,), reached)
    beside = _at_example(row, *BESIDE[row.name])
    assert judged(beside, None, _evaluator()).verdict.value == "agree", "the neighbour is judged"
    off = Changed(lambda gradient, point: {n: 2.0 * g + 0.5 for n, g in gradient.items()})
    words = "convention" if right.reason is None else "inconclusive"
    return Planted(right, words, (judged(beside, off, _evaluator()),), reached)


def _of_limit(row: Convention) -> Planted:
    """Any wrong derivative is excused where an adapter says that the program meets the limit; a wrong value
    and an exception are not, nor is the same derivative where it says nothing.
    """
    limit = LibraryLimit(row.name, row.why, row.source)

    class Limited(EngineOracle):
        off, says, fails = 0.0, True, False

        def answer(self, question: Question) -> list[Answer]:
            (right,) = super().answer(question)
            if self.fails:
                return [Answer("error", message="ValueError: of the library", limit=limit)]
            gradient = {n: 2.0 * g for n, g in right.gradient.items()}
            values = tuple(y + self.off for y in right.values)
            return [replace(right, values=values, gradient=gradient, limit=limit if self.says else None)]

    question = asked("x * x", x=1.5)
    wrong_value, silent, raising = Limited(), Limited(), Limited()
    wrong_value.off, silent.says, raising.fails = 1.0, False, True
    found = tuple(judged(question, target) for target in (wrong_value, silent, raising))
    right = judged(question, Limited())
    return Planted(right, "as documented", found, right.conventions == (row.name,))


for _row in (row for row in CONVENTIONS if row.ops):
    _plant = functools.partial(_of_convention if _row.examples else _of_limit, _row)
    EXCUSES.append(Excuse(_row.name, _row.why, (f"convention of programs: {_row.name}",), _plant))


CANCELLING = """def f(x: "float[2]", y):
    acc = 1.0
    for i in range(2):
        acc = acc + y * astype(y < y * x[i], float)
    return acc
"""


@excuse(
    "Both sides of a comparison are equal, and the answer is the slope of the side that the engine takes."
    " What"
    " is neither that nor the derivative may mix the sides: the same mistakes are found at a neighbour.",
)
def the_side_of_a_comparison() -> Planted:
    def at(y: float) -> Question:
        question = asked(CANCELLING, x=[0.5, 2.0], y=y)
        return replace(question, wrt=("y",), directions={"y": question.directions["y"]})

    wrong = tuple(judged(at(0.25), saying(y=slope)) for slope in (0.0, 2.0, -1.0, 0.5))
    return Planted(judged(at(0.0)), "the side taken", wrong)


planted_elsewhere(
    "A derivative is wrong where the documentation of a target states that it is limited. Any number is: the"
    " plants are a wrong value, an exception, and the same number without a limit.",
    ("tests/unit/fuzzer/test_judge.py::test_a_documented_limit_makes_a_wrong_derivative_a_convention",),
    f"{ROWS}predicted.py anything: inf",
    f"{ROWS}predicted.py anything: inf",
)


# No truth ---------------------------------------------------------------------------------------------------

LOGARITHM = "log(x)"
ENDLESS = """def f(x):
    acc = x
    while acc > 1.0:
        acc = acc + 1.0
    return acc * acc
"""


@excuse(
    "The program is not defined at the point. The same mistake is found at a neighbour.",
    f"{JUDGE} module: Reason.DOMAIN",
    f"{JUDGE} module: Doubt.DOMAIN",
    "oracles/references/directions.py inconclusive: Doubt.DOMAIN",
)
def no_value() -> Planted:
    target = saying(x=7.0)
    found = tuple(judged(asked(LOGARITHM, x=x), target) for x in (1e-3, 1.0, 1e3))
    return Planted(judged(asked(LOGARITHM, x=-1.0), target), "not defined", found)


@excuse(
    "A value leaves what the references and the dtype can hold. The same mistake is found at a neighbour.",
    f"{JUDGE} module: Reason.RANGE",
    f"{JUDGE} module: Doubt.RANGE",
    "oracles/references/directions.py inconclusive: Doubt.RANGE",
)
def a_truth_beyond_the_range() -> Planted:
    excused = judged(asked("exp(exp(x))", x=50.0), times(2.0))
    reached = excused.truth is not None and excused.truth.doubt is Doubt.RANGE
    found = tuple(judged(asked("exp(exp(x))", x=x), times(2.0)) for x in (-50.0, 0.5, 5.0))
    return Planted(excused, "normal range", found, reached)


@excuse(
    "A loop runs longer than the trip limit. The same mistake is found where it ends.",
    f"{JUDGE} module: Reason.TRIP_LIMIT",
    f"{JUDGE} module: Doubt.TRIP_LIMIT",
    "oracles/references/directions.py inconclusive: Doubt.TRIP_LIMIT",
    "fuzzer/tolerance/allowed.py module: Reason.TRIP_LIMIT",
    "fuzzer/tolerance/allowed.py: TRIPS",
)
def a_loop_that_does_not_end() -> Planted:
    class Guess(EngineOracle):
        """Of a loop that does not end the engine itself says nothing."""

        def answer(self, question: Question) -> list[Answer]:
            return [Answer("ok", (np.array(1.0),), {"x": np.array(7.0)}) for _ in question.points]

    excused = judged(asked(ENDLESS, x=1.5), Guess("engine:guess"))
    return Planted(excused, "trip limit", (judged(asked(ENDLESS, x=0.5), times(2.0)),))


@excuse(
    "The reference's bound is too wide to tell anything. The same mistake is found where it is narrow.",
    f"{JUDGE} _without_truth: Reason.REFERENCES",
    f"{JUDGE} _without_truth: Reason.REFERENCES",
    "oracles/references/directions.py inconclusive: Doubt.WIDE",
)
def a_derivative_that_is_not_settled() -> Planted:
    """The eigenvectors of a complex matrix may be turned by any phase."""
    text = "w, v = eigh(complex(x, y)); real(v[0, 1])"
    inputs = {"x": np.array([[2.0, 0.0], [0.0, 3.0]]), "y": np.array([[0.0, 0.5], [-0.5, 0.0]])}
    excused = judged(asked(text, **inputs), times(2.0))
    reached = excused.truth is not None and excused.truth.doubt is Doubt.WIDE
    beside = judged(asked(text.replace("real(v[0, 1])", "w[1]"), **inputs), times(2.0))
    return Planted(excused, "references", (beside,), reached)


# Kinks ------------------------------------------------------------------------------------------------------


@excuse(
    "Legal choices of several ties may add up to more than the slopes on both sides, and derivatives of"
    " higher order to anything. What no choices make is found, and the same mistake at one selection and"
    " beside it.",
    f"{JUDGE} _judge_kink: Reason.KINK",
    "oracles/references/directions.py inconclusive: Doubt.KINK",
    "oracles/references/finite_differences.py _Stencils.truth: Doubt.KINK",
)
def a_kink_of_two_selections() -> Planted:
    two = "maximum(x, 0.0) - abs(x) * 0.5"
    excused = judged(asked(two, x=0.0), saying(x=1.25))
    beyond = judged(asked(two, x=0.0), saying(x=1.75))
    one = judged(asked("maximum(x, 0.0)", x=0.0), saying(x=1.25))
    beside = judged(asked(two, x=0.25), saying(x=1.25))
    second = judged(asked("maximum(x, 0.0) * x", ("rev", "fwd"), x=0.25), saying(x=7.0))
    return Planted(excused, "kink", (beyond, one, beside, second))


@excuse(
    "At a kink every slope between those on both sides is a convention.",
    f"{JUDGE} _judge_kink: Verdict.CONVENTION",
    "fuzzer/verdict/kinks.py: _RANDOM",
    "fuzzer/verdict/kinks.py: _EIGHTHS",
)
def between_the_slopes() -> Planted:
    """Shares of a tie lie between 0 and 1 each, and add up to 1."""
    question = asked("amax(x)", x=[0.5, 0.5, 0.5])
    wrong = ([1.0, 1.0, 0.0], [0.25, 0.25, 0.25], [0.5, 0.5, 0.0 + 1e-9], [2.0, -0.5, -0.5], [NAN, 0.5, 0.5])
    found = tuple(judged(question, saying(x=shares)) for shares in wrong)
    return Planted(judged(question, saying(x=[0.25, 0.75, 0.0])), "between the slopes", found)


@excuse(
    "NaN is an answer at the norm of zeros, whose makers mean it. Beside NaN the entries are judged.",
    f"{ROWS}situation.py Situation.compared: inf",
)
def nan_at_the_norm_of_zeros() -> Planted:
    question = asked("vector_norm(x) + x[1]", x=[0.0, 0.0])
    wrong = ([NAN, 3.0], [np.inf, 1.0], [NAN, np.inf])
    found = tuple(judged(question, saying(x=gradient)) for gradient in wrong)
    elsewhere = judged(asked("vector_norm(x)", x=[3.0, 4.0]), saying(x=[NAN, NAN]))
    return Planted(judged(question, saying(x=[NAN, NAN])), "JAX gives 0 / 0", (*found, elsewhere))


@excuse("The same where the norm is always 0 and the point is smooth.")
def nan_of_a_norm_that_is_always_0() -> Planted:
    question = asked("vector_norm(x * 0.0) + x[0]", x=[1.0, 2.0])
    found = tuple(judged(question, saying(x=gradient)) for gradient in ([2.0, NAN], [NAN, 1.0]))
    return Planted(judged(question, saying(x=[NAN, NAN])), "JAX gives 0 / 0", found)


@excuse(
    "The slopes across a kink are not measured where that takes too many differences. What has no kink is.",
    "fuzzer/verdict/truth.py: _MOST_DIFFERENCES",
)
def a_kink_of_many_entries() -> Planted:
    def cases(x: Any) -> CheckResult:
        question = asked("amax(x)", x=x)
        (answer,) = saying(x=np.full(np.shape(x), 0.75)).answer(question)
        return Evaluator().cases("target", question, [answer])[0]

    ties = np.full(101, 0.5)
    return Planted(cases(ties), "kink", (cases(ties[:8]), cases(np.arange(101.0))))


@excuse(
    "Where the program is not defined for an entry, an answer that is no number may come from it, by 0 times"
    " infinity. A wrong number of an entry that does not lead there is found.",
    f"{JUDGE} _beyond_choices: inf",
)
def no_number_beside_what_is_not_defined() -> Planted:
    question = asked("sum(log(x) * 2.0)", x=[0.0, 0.5, 4.0])

    def said(*gradient: float) -> CheckResult:
        return check_answers(LazyAnswers(saying(x=gradient), question), _evaluator())

    found = (said(np.inf, 4.0, 0.5005), said(NAN, -4.0, 0.5), said(np.inf, 0.0, 0.5), said(2.0, 4.0, 40.0))
    return Planted(said(np.inf, NAN, 0.5), "not defined", found)


@excuse(
    "Where rounding may part a tie nothing is known of the noise, and half of the digits are granted to what"
    " legal choices make. What is farther from that is found.",
    f"{JUDGE}: _NEARLY",
)
def a_tie_that_rounding_may_part() -> Planted:
    question = asked("clip(x * 3.0 - 1.75, -1.0, 1.0)", x=[0.25, 0.5, 3.0])
    found = tuple(
        judged(question, saying(x=g)) for g in ([0.0, 3.003, 0.0], [4.0, 3.0, 0.0], [0.0, 3.0, 1e-3])
    )
    return Planted(judged(question, saying(x=[0.0, 3.0 + 1e-9, 0.0])), "kink", found)


@excuse(
    "Of many entries those that move a tie may have any legal slope. The others are judged as if there were"
    " no tie, and a few at ties one by one; ties that are too many to be told apart are judged together.",
    "fuzzer/verdict/checking.py: _AT_TIES",
    "fuzzer/verdict/checking.py _with_ties: Verdict.CONVENTION",
    "fuzzer/verdict/checking.py _with_ties: Verdict.CONVENTION",
    "fuzzer/verdict/checking.py _with_ties: Verdict.AGREE",
    "fuzzer/conventions/ties.py: _EVALUATIONS",
)
def ties_among_many_entries() -> Planted:
    x = np.linspace(-1.0, 1.0, 501)
    x[[3, 250]] = 0.0

    def said(at: Any, **changed: float) -> CheckResult:
        question = asked("sum(abs(x)) + sum(x * x)", x=at)
        gradient = np.sign(at) + 2.0 * at
        for place, value in changed.items():
            gradient[int(place.removeprefix("at"))] = value
        return check_answers(LazyAnswers(saying(x=gradient), question), _evaluator())

    excused = said(x, at3=0.5)
    tiny, flat = 1.0 + 1e-6, np.zeros(501)
    found = (said(x, at4=tiny * (np.sign(x[4]) + 2.0 * x[4])), said(x, at3=1.5), said(x, at3=NAN))
    return Planted(
        excused, "convention", (*found, said(flat, at7=1e3)), said(flat).verdict.value == "convention"
    )


# Near misses, wide bounds, noise ----------------------------------------------------------------------------

U = 2.0**-53
POLYNOMIAL = "x * x * x - 2.0 * x"


def _by_hand(
    slope: Any, true: Any = 1.0, bound: Any = 0.0, noise: Any = 2 * U, value: float = 0.25, **more: Any
) -> CheckResult:
    """A verdict by a truth and a tolerance that are made up, of as many entries as there are slopes."""
    true, bound, noise, slope = np.broadcast_arrays(
        *(np.asarray(a, np.float64) for a in (true, bound, noise, slope))
    )
    question = asked("sum(x * x)" if slope.shape else "x * x", x=np.full(slope.shape, 0.5))
    known = Truth("ok", (np.array(0.25),), (np.array(0.0),), {"x": true}, {"x": bound})
    tolerance = Tolerance(
        "float64", None, "", (np.array(0.25),), (np.array(2 * U),), {"x": true}, {"x": noise}, **more
    )
    answer = Answer("ok", (np.array(value),), {"x": slope})
    return judge("target", question, 0, answer, known, tolerance)


@excuse(
    "An error between one and ten times what is allowed is a near miss, and not called.",
    f"{JUDGE} _off: Reason.NOISE",
    "fuzzer/verdict/classify.py: CLEAR",
    "fuzzer/tolerance/allowed.py: SAFETY",
    f"{JUDGE} _judge_gradient: Verdict.AGREE",
)
def a_near_miss() -> Planted:
    allowed = 8.0 * 3 * U
    return Planted(_by_hand(1.0 + 9.0 * allowed), "just beyond", (_by_hand(1.0 + 11.0 * allowed),))


@excuse(
    "A near miss of one entry hides no clear error of another.",
    f"{JUDGE}: _PLAINLY",
)
def a_near_miss_beside_a_mistake() -> Planted:
    allowed = 8.0 * 3 * U
    found = _by_hand([1.0 + 9.0 * allowed, 1.0 + 11.0 * allowed])
    return Planted(_by_hand([1.0 + U, 1.0]), "agree", (found, _by_hand([1.0, 2.0])))


@excuse(
    "A value just beyond what rounding allows is not called.",
    f"{JUDGE} _judge_values: Reason.PRIMAL",
)
def a_near_miss_of_the_value() -> Planted:
    allowed = 8.0 * (2 * U + 0.25 * U)
    wrong = _by_hand(1.0, value=0.25 + 11.0 * allowed)
    return Planted(_by_hand(1.0, value=0.25 + 9.0 * allowed), "the value is just beyond", (wrong,))


@excuse(
    "A bound of the truth that is wider than what rounding is granted judges nothing. It hides no other"
    " entry.",
    f"{JUDGE} _judge_gradient: Reason.REFERENCES",
    f"{JUDGE} _judge_gradient: inf",
    f"{JUDGE}: _NEGLIGIBLE",
)
def a_wide_bound() -> Planted:
    found = (_by_hand([7.0, 2.0], bound=[1e-3, 0.0]), _by_hand(7.0, bound=1e-16))
    return Planted(_by_hand(1.0, bound=1e-3), "by x is not known to enough digits", found)


@excuse(
    "Rounding may be larger than the derivative. An error far beyond rounding is one all the same, and"
    " another"
    " entry is judged.",
    f"{JUDGE} _judge_gradient: Reason.NOISE",
    f"{JUDGE} _judge_gradient: Verdict.AGREE",
    f"{JUDGE}: _DROWNED",
    f"{JUDGE}: _NEXT_TO_0",
)
def a_drowned_derivative() -> Planted:
    found = (
        _by_hand(1.0, true=1e-17, noise=1e-16),
        _by_hand([0.0, 2.0], true=[1e-17, 1.0], noise=[1e-16, U]),
    )
    return Planted(_by_hand(2e-16, true=1e-17, noise=1e-16), "rounding may be larger", found)


@excuse(
    "NaN where rounding may be larger than the derivative: a division by what is lost may end anywhere. Where"
    " it is smaller, NaN is wrong, also beside an entry that is drowned.",
    f"{JUDGE} _off: Reason.NOISE",
)
def nan_of_a_drowned_derivative() -> Planted:
    found = (_by_hand(NAN), _by_hand([NAN, 1.0], noise=[0.25, U]))
    return Planted(_by_hand(NAN, noise=0.25), "end in NaN", found)


@excuse(
    "An intermediate leaves the range of the dtype for each entry. An entry that stays within it is judged.",
    f"{JUDGE} _judge_gradient: Reason.RANGE",
    f"{JUDGE} _judge_gradient: Reason.RANGE",
    f"{JUDGE} _judge_gradient: Verdict.AGREE",
    "fuzzer/tolerance/allowed.py _beyond: Reason.RANGE",
    "fuzzer/tolerance/allowed.py module: Reason.RANGE",
    "fuzzer/tolerance/allowed.py _run: inf",
    "fuzzer/tolerance/allowed.py _measured: inf",
    "fuzzer/tolerance/beyond_range.py: _MARGIN",
    "fuzzer/tolerance/beyond_range.py BeyondRangeNamespace._at_the_end: inf",
    "fuzzer/tolerance/beyond_range.py BeyondRangeNamespace.divide: inf",
    "fuzzer/tolerance/beyond_range.py BeyondRangeNamespace.divide: inf",
)
def an_entry_beyond_the_range() -> Planted:
    excused = judged(asked("sum(exp(x))", precision="float32", x=[95.0, 96.0]), times(2.0))
    mixed = asked("exp(x)", precision="float32", x=[1.0, 88.5, -88.5])
    text = "y = softmax(where(x > 0.0, x, -3.4e38)); sum(y * y)"
    masked = asked(text, precision="float32", x=[1.0, 0.5, -1.0])
    wrong = Changed(lambda gradient, point: {"x": gradient["x"] * np.array([2.0, 1.0, 1.0])})
    decides = asked("y = 3e38 / x; where(y < 1.0, x, x * x)", precision="float32", x=1e-3)
    found = judged(mixed, wrong), judged(masked, wrong), judged(decides, times(2.0))
    return Planted(excused, "normal range", found)


# References -------------------------------------------------------------------------------------------------


class _Silent(MpmathReference):
    """Never knows."""

    def truth(self, question: Question) -> list[Truth]:
        return [Truth.unknown(Doubt.WIDE, "nothing agrees")] * len(question.points)


class _Other(MpmathReference):
    """Measures the derivative of something else, by the factor; at a kink the slope to the right."""

    def truth(self, question: Question) -> list[Truth]:
        return [
            replace(
                found,
                gradient={n: 1.5 * g for n, g in found.gradient.items()},
                right=None if found.right is None else {n: g + 0.5 for n, g in found.right.items()},
            )
            for found in super().truth(question)
        ]


class _Kinked(MpmathReference):
    """Sees a kink everywhere."""

    def truth(self, question: Question) -> list[Truth]:
        return [Truth.unknown(Doubt.KINK, "it seems so", kink=True)] * len(question.points)


def _by(second: MpmathReference, question: Question, factor: float) -> CheckResult:
    """The verdict on the engine's answer times a factor, by this second reference."""
    return judged(question, times(factor), Evaluator(Truths(second=second)))


@excuse(
    "A number is wrong only if both references say so. The same mistake is found where both do; a wrong shape"
    " needs none.",
    "fuzzer/verdict/evaluator.py _supported: Reason.REFERENCES",
)
def one_reference_alone() -> Planted:
    question = asked("x * x", x=3.0)
    flat = saying(x=[5.0])
    found = judged(question, flat, Evaluator(Truths(second=_Silent())))
    return Planted(_by(_Silent(), question, 2.0), "only arb", (_by(MpmathReference(), question, 2.0), found))


@excuse(
    "References that contradict each other judge nobody. The same mistake is found where they agree.",
    "fuzzer/verdict/truth.py _joined: Doubt.REFERENCES",
)
def references_that_contradict_each_other() -> Planted:
    question = asked(POLYNOMIAL, x=3.0)
    found = _by(MpmathReference(), question, 2.0)
    return Planted(_by(_Other(), question, 2.0), "contradict each other about x", (found,))


@excuse(
    "One reference sees a kink where the other is smooth. The same mistake is found where both are smooth.",
    "fuzzer/verdict/truth.py _joined: Doubt.REFERENCES",
)
def references_that_see_another_kink() -> Planted:
    question = asked(POLYNOMIAL, x=3.0)
    found = _by(MpmathReference(), question, 2.0)
    return Planted(_by(_Kinked(), question, 2.0), "finds the point smooth", (found,))


@excuse(
    "References that contradict each other beside a kink judge nobody. The same mistake is found where they"
    " agree.",
    "fuzzer/verdict/truth.py _beside: Doubt.REFERENCES",
    "fuzzer/verdict/truth.py: _BESIDE",
)
def references_that_contradict_each_other_beside_a_kink() -> Planted:
    question = asked("abs(x)", x=0.0)
    (excused, found) = (
        judged(question, saying(x=1.25), Evaluator(Truths(second=one)))
        for one in (_Other(), MpmathReference())
    )
    return Planted(excused, "contradict each other about x next to the point", (found,))


@excuse(
    "The engine computes something else than the references: they share an arithmetic, which may be wrong. An"
    " entry at which the engine joins them is judged all the same, and so is the part of a program without"
    " the op.",
    f"{JUDGE} joined: Reason.REFERENCES",
)
def a_mistake_that_the_references_share() -> Planted:
    """The cumulative product of both is doubled, which shows in the slope by u alone."""
    question = asked("sum(cumulative_prod(v) * u) + sum(sin(w))", u=[0.0, 0.0], v=[0.5, 1.5], w=[0.25, 0.75])
    owner = next(cls for cls in LinalgObjects.__mro__ if "cumulative_prod" in vars(cls))
    right = vars(owner)["cumulative_prod"]

    def doubled(self: Any, *args: Any, **params: Any) -> Any:
        found = right(self, *args, **params)
        return self.add(found, found)

    wrong = Changed(lambda gradient, point: {**gradient, "w": 2.0 * gradient["w"]})
    with patch.object(owner, "cumulative_prod", doubled):
        excused = judged(question, None, Evaluator())
        beside = judged(question, wrong, Evaluator())
    return Planted(excused, "own engine and its references do not agree", (beside,))

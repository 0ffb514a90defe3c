"""Plants beside the opinions that a wrong number of a program may be rounding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.oracles.base import Answer, Point, Question, Traits
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs.language.precision import FORMATS
from tests.excuses.planted import Changed, Planted, asked, judged, times
from tests.excuses.registry import excuse, planted_elsewhere

ROUNDING = "fuzzer/verdict/rounding.py"

LONG = """def f(x):
    for i in range(3):
        x = x / (1.0 + x * x)
    return x
"""
SHORT = "x * sin(x) * sin(x * x)"


def in_float32(factor: float, wide: float = 1.0) -> Changed:
    """A gradient that is off by one factor in float32, and by another one in float64."""

    def change(gradient: dict[str, Any], point: Point) -> dict[str, Any]:
        return {n: g * (factor if g.dtype == np.float32 else wide) for n, g in gradient.items()}

    return Changed(change)


@excuse(
    "A derivative of a long program that is right in float64 may be off by rounding in float32. The same"
    " mistake of float32 alone is found in a short program, and one of both precisions in the long one.",
    f"{ROUNDING} sustained: doubted()",
    f"{ROUNDING} doubted: Reason.NOISE",
    f"{ROUNDING}: _SHORT",
)
def right_in_float64() -> Planted:
    long, short = (asked(text, precision="float32", x=0.75) for text in (LONG, SHORT))
    found = (judged(short, in_float32(1.5)), judged(long, in_float32(1.5, 1.5)), judged(long, times(1.01)))
    return Planted(judged(long, in_float32(1.5)), "right in float64", found)


@excuse(
    "Where float64 does not tell at the same inputs, rounding in float32 may explain what is wrong there. The"
    " same mistake is found where float64 tells.",
    f"{ROUNDING} sustained: Reason.NOISE",
)
def float64_does_not_tell() -> Planted:
    """In float64 the error is a near miss."""
    question = asked(LONG, precision="float32", x=0.75)
    near = judged(question, in_float32(1.5, 1.0 + 5e-14))
    return Planted(
        near,
        "float64 the answer at the same inputs cannot be judged",
        (judged(question, in_float32(1.5, 1.0 + 1e-9)),),
    )


QUOTIENT = "y = x * x; 1.0 / (y * y)"


@excuse(
    "No precision is wider than float64: where the square of an intermediate leaves its range, another form"
    " of"
    " the derivative may, too. The same mistake is found nearer to 1.",
    f"{ROUNDING} sustained: Reason.RANGE",
)
def near_the_end_of_float64() -> Planted:
    found = tuple(judged(asked(QUOTIENT, x=x), times(2.0)) for x in (1e-15, 0.5, 1e15))
    return Planted(judged(asked(QUOTIENT, x=1e-25), times(2.0)), "leaves the range of float64", found)


class Together(EngineOracle):
    """Answers all points in one call; at the first one the gradient is this number."""

    traits = Traits(batched=True)

    def __init__(self, number: float) -> None:
        super().__init__("engine:together")
        self.number = number

    def answer(self, question: Question) -> list[Answer]:
        first, *others = super().answer(question)
        return [replace(first, gradient={"x": np.array(self.number)}), *others]


def _beside(text: str, number: float, *xs: float) -> Any:
    question = asked(text, x=xs[0])
    points = tuple(Point({"x": np.array(x)}) for x in xs)
    return judged(replace(question, points=points), Together(number))


@excuse(
    "NaN of a call about several points, where another one leaves the range or has no derivative: a sum over"
    " all is NaN at each. A number is judged, and NaN is wrong where all points have a derivative.",
    f"{ROUNDING} _reasons_elsewhere: Reason.RANGE",
)
def a_point_beside_one_that_is_not_finite() -> Planted:
    excused = _beside(QUOTIENT, np.nan, 0.5, 1e-60)
    found = (_beside(QUOTIENT, 7.0, 0.5, 1e-60), _beside(QUOTIENT, np.nan, 0.5, 0.75))
    return Planted(excused, "another point of the same call", found)


@excuse(
    "NaN of a call about several points, where another one meets a convention of which NaN is an answer, as"
    " the norm of a zero vector.",
    f"{ROUNDING} _reasons_elsewhere: Reason.KINK",
)
def a_point_beside_one_where_nan_is_an_answer() -> Planted:
    norm = "vector_norm(stack(x, axis=0))"
    excused = _beside(norm, np.nan, 0.5, 0.0)
    return Planted(
        excused,
        "another point of the same call",
        (_beside(norm, 7.0, 0.5, 0.0), _beside(norm, np.nan, 0.5, 2.0)),
    )


class Raising(Together):
    """Raises for all points at once."""

    def __init__(self, *, together: bool = True) -> None:
        super().__init__(0.0)
        self.traits = Traits(batched=together)  # type: ignore[misc]

    def answer(self, question: Question) -> list[Answer]:
        return [Answer("error", message="of the batch")] * len(question.points)


@excuse(
    "An exception of a call about several points, where the function is not defined at another one. It counts"
    " where all points are in the domain, where another one is only beyond the range, and of a call about one"
    " point.",
    f"{ROUNDING} _reasons_elsewhere: Reason.DOMAIN",
)
def a_point_beside_one_that_is_not_defined() -> Planted:
    def raised(text: str, *xs: float, together: bool = True) -> Any:
        question = asked(text, x=xs[0])
        points = tuple(Point({"x": np.array(x)}) for x in xs)
        return judged(replace(question, points=points), Raising(together=together))

    unused = """def f(x):
    t = solve(stack(stack(x, axis=0), axis=0), stack(1.0, axis=0))
    return x
"""
    found = (
        raised(unused, 0.5, 0.75),
        raised(unused, 0.5, 0.0, together=False),
        raised(QUOTIENT, 0.5, 1e-60),
    )
    return Planted(raised(unused, 0.5, 0.0), "another point of the same call is not defined", found)


TESTS = "tests/unit/fuzzer/test_rounding.py::"

planted_elsewhere(
    "An error below a hundred times what is allowed that is another one next to the point may be rounding."
    " The"
    " same size is wrong where it is steady, and a larger one in any case.",
    (
        f"{TESTS}test_what_is_left_of_terms_that_cancel_is_wrong_only_if_it_is_steady",
        f"{TESTS}test_digits_that_are_lost_by_chance_may_be_lost_to_rounding",
        f"{TESTS}test_digits_that_are_lost_everywhere_are_a_class_of_their_own",
        f"{TESTS}test_digits_that_are_lost_by_far_are_lost",
        f"{TESTS}test_large_numbers_that_cancel_lose_digits",
    ),
    f"{ROUNDING} _by_neighbours: Reason.NOISE",
    f"{ROUNDING}: _MOVED",
    f"{ROUNDING}: _STEADY",
    f"{ROUNDING}: _BY_FAR",
    f"{ROUNDING}: _NEARLY",
)


def cancelling(times: float) -> Changed:
    """To the gradient by y a multiple of y is added and subtracted again."""

    def change(gradient: dict[str, Any], point: Point) -> dict[str, Any]:
        large = times * point.inputs["y"]
        return {**gradient, "y": (gradient["y"] + large) - large}

    return Changed(change)


@excuse(
    "An entry that is off by a hundred eps of the largest one, and by another amount next to the point, may"
    " be"
    " rounding. A larger error is not, nor one that stays the same.",
    f"{ROUNDING} _by_neighbours: Reason.NOISE",
)
def a_small_entry_beside_a_large_one() -> Planted:
    question = asked("sin(x) + 1e-12 * sin(y)", x=0.5, y=1.3)
    half = Changed(lambda gradient, point: {**gradient, "y": 0.5 * gradient["y"]})
    off = Changed(lambda gradient, point: {**gradient, "y": gradient["y"] + 50.0 * FORMATS["float64"].eps})
    found = (judged(question, cancelling(1e3)), judged(question, half), judged(question, off))
    return Planted(judged(question, cancelling(1.0)), "small compared with the largest", found)

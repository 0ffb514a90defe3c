"""Plants beside what is allowed: the forms of a derivative that lose more, ranges, decisions, chaos."""

from __future__ import annotations

import functools

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.tolerance.allowed import Tolerance, tolerances, wide_tolerances
from gradfuzz.oracles.base import Array, Question
from gradfuzz.programs.language.functions import _ROWS, Function
from tests.excuses.planted import Changed, Planted, asked, judged, saying, times
from tests.excuses.registry import EXCUSES, Excuse, excuse, planted_elsewhere
from tests.unit.fuzzer.test_tolerance import REGROUPED

ALLOWED = "fuzzer/tolerance/allowed.py"


def _granted(tolerance: Tolerance) -> dict[str, Array]:
    """What is allowed to each entry of the engine's gradient."""
    return {
        n: tolerance.allowed(g, tolerance.noise[n], np.zeros_like(g)) for n, g in tolerance.gradient.items()
    }


def _of_a_form(question: Question, *wrong: Changed) -> Planted:
    """An answer that is off by half of what is allowed to all forms together, which the engine's own does not
    explain; beside it wrong ones.
    """
    (narrow,), (wide,) = tolerances(question), wide_tolerances(question)
    own, all_forms = _granted(narrow), _granted(wide)
    off = {n: 0.5 * a for n, a in all_forms.items()}
    # What rounds to the answer's dtype may be less than half of what is allowed.
    lossy = Changed(lambda gradient, point: {n: g + off[n].astype(g.dtype) for n, g in gradient.items()})
    reached = any(np.any(all_forms[n] > own[n]) for n in own)
    found = tuple(judged(question, target) for target in wrong)
    return Planted(judged(question, lossy), "", found, reached)


def _off_by(part: float) -> Changed:
    """Every entry is off by this number."""
    return Changed(lambda gradient, point: {n: g + part for n, g in gradient.items()})


# Functions --------------------------------------------------------------------------------------------------

_ARGUMENTS = (0.999, 1.001, -0.999, 20.0, -20.0, 3.3, 0.7, 0.05)
"""Of functions: next to the ends of domains, and large."""

_NOT_REACHED = ("exp2", "erfinv", "cbrt", "positive", "relu")
"""Their slopes are written by the result, or do not change with the argument: the grant changes nothing."""


def _at_an_argument(row: Function) -> Question:
    """Where what is granted to the function changes what is allowed, by less than half of its digits."""
    params = "".join(f", {name}=1" for name in row.params)
    text = f"{row.name}({', '.join(row.arguments)}{params})"
    for x in _ARGUMENTS:
        given = dict(zip(reversed(row.arguments), (x, 1.3), strict=False))
        for modes in (("rev",), ("rev", "fwd")):
            question = asked(text, modes, **{n: given[n] for n in row.arguments})  # type: ignore[arg-type]
            try:
                (narrow,), (wide,) = tolerances(question), wide_tolerances(question, forward=False)
            except GradfuzzError:
                continue
            if narrow.reason is not None or narrow.message:
                continue
            own, more = _granted(narrow), _granted(wide)
            digits = all(
                np.all(more[n] < 1e-4 * np.maximum(abs(g), 1e-9)) for n, g in narrow.gradient.items()
            )
            reached = any(np.any(more[n] > 1.01 * own[n]) for n in own)
            if digits and (reached or row.name in _NOT_REACHED):
                return question
    raise AssertionError(f"nothing changes what is allowed to {row.name}: is its grant of use?")


def _of_function(row: Function) -> Planted:
    question = _at_an_argument(row)
    found = _of_a_form(question, _off_by(0.01), times(1.01) if row.slopes != ("0.0",) else _off_by(-0.01))
    return found if row.name not in _NOT_REACHED else Planted(found.excused, "agree", found.wrong)


for _row in _ROWS:
    _sites = (
        *([f"function written otherwise: {_row.name}"] if _row.otherwise else []),
        *([f"function conditioned: {_row.name}"] if _row.conditioned else []),
    )
    if _sites:
        _told = (
            "A library may lose what a rounding of the argument changes, or another form of the slope does."
        )
        EXCUSES.append(Excuse(_row.name, _told, _sites, functools.partial(_of_function, _row)))


# Ops and forms ----------------------------------------------------------------------------------------------


@excuse(
    "Derivatives of a product by division leave rounding where those by the other entries are exactly 0.",
    "op written otherwise: prod",
    "op written otherwise: cumulative_prod",
    f"{ALLOWED} wide_tolerances: _by_modes(question, in_reverse, trip_limit, rules)",
)
def a_product_by_division() -> Planted:
    several = [
        _of_a_form(asked(f"{op}(x)", ("fwd", "fwd", "rev"), x=[1.5, 0.5]), _off_by(1e-9), _off_by(-1.0))
        for op in ("prod", "cumulative_prod")
    ]
    return _all_of(several)


def _all_of(several: list[Planted]) -> Planted:
    """Several plants as one."""
    first, *_ = several
    wrong = tuple(found for one in several for found in one.wrong)
    return Planted(first.excused, first.words, wrong, all(one.reached for one in several))


@excuse(
    "Derivatives of a determinant by the inverse cancel where those of the minors do not.",
    "op written otherwise: det",
)
def a_determinant_by_the_inverse() -> Planted:
    question = asked("det(a)", ("rev", "rev"), a=[[1.0, 1.0], [1.0, 1.0 + 2.0**-6]])
    return _of_a_form(question, _off_by(1e-9), times(1.0 + 1e-9), times(-1.0))


@excuse(
    "Derivatives of eigenvectors by a masked diagonal leave the rounding of what is added and taken away.",
    "op written otherwise: eigh",
    "op written otherwise: eigvalsh",
)
def eigenvectors_by_a_masked_diagonal() -> Planted:
    third = ("rev", "rev", "rev")
    values = asked("eigvalsh(x @ permute_dims(x, (1, 0)))", third, x=[[0.25, -0.75]])  # type: ignore[arg-type]
    vectors = asked("w, v = eigh(x @ permute_dims(x, (1, 0))); w", third, x=[[0.25, -0.75]])  # type: ignore[arg-type]
    return _all_of([_of_a_form(question, _off_by(1e-9)) for question in (values, vectors)])


@excuse(
    "Derivatives of |x| / x are a difference of two quotients that are equal but for rounding.",
    "op written otherwise: abs",
)
def a_sign_by_a_quotient() -> Planted:
    return _of_a_form(asked("abs(x)", ("rev", "rev"), x=0.001), _off_by(1e-9), _off_by(-1.0))


@excuse(
    "Derivatives of `lu` by factors that are completed to squares leave rounding where they are exactly 0.",
    "op written otherwise: lu",
)
def factors_that_are_completed_to_squares() -> Planted:
    upper, lower = (
        asked(text, ("fwd", "fwd", "fwd"), x=x)  # type: ignore[arg-type]
        for text, x in (("lu(x * x)[2]", [[0.5, 0.5, 0.1]]), ("lu(x)[1]", [[0.7], [0.5], [0.1]]))
    )
    return _all_of([_of_a_form(q, _off_by(1e-10), _off_by(1e-3)) for q in (upper, lower)])


@excuse(
    "The rules of the two modes write one derivative in two ways, and one of them cancels near 0.",
    f"{ALLOWED} wide_tolerances: _by_modes(question, m, trip_limit)",
    f"{ALLOWED} wide_tolerances: _by_modes(question, in_reverse, trip_limit)",
)
def a_slope_of_another_mode() -> Planted:
    near, far = (asked("tanh(x)", ("fwd", "fwd"), "float32", x=x) for x in (1e-9, 0.5))
    found = _of_a_form(near, _off_by(1e-3), _off_by(-1.0))
    return Planted(found.excused, "", (*found.wrong, judged(far, times(1.01))), found.reached)


@excuse(
    "Contributions to a gradient may be added in any order.",
    f"{ALLOWED} wide_tolerances: _by_modes(question, in_reverse, trip_limit, how=_How(regrouped=True))",
)
def contributions_in_another_order() -> Planted:
    return _of_a_form(asked(REGROUPED, x=1e-8), _off_by(1e-6), times(2.0))


HUGE_SINE = """def f(x):
    acc = x * 1e17
    tiny = sin(acc) * -1e-11
    return x * x + tiny
"""


@excuse(
    "What random rounding of every result loses in float64 is allowed.",
    f"{ALLOWED} wide_tolerances: _by_modes(question, in_reverse, trip_limit, how=_AT_RANDOM)",
    f"{ALLOWED}: _AT_RANDOM",
)
def a_sine_without_digits() -> Planted:
    text = HUGE_SINE.replace("sin(acc)", "sin(acc) / acc")
    return _of_a_form(asked(text, x=100.0), times(1.01), _off_by(1.0))


# What cannot be judged --------------------------------------------------------------------------------------

DECIDED = """def f(x):
    y = x
    if x * 3.0 > 0.3:
        y = x * x
    return y
"""


@excuse(
    "Rounding may turn a decision. The same mistake is found where the sides are farther apart.",
    f"{ALLOWED} module: Reason.PRIMAL",
    "fuzzer/tolerance/perturbed.py: _DECISION_UNITS",
)
def a_decision_within_rounding() -> Planted:
    wrong = saying(x=7.0)
    found = tuple(judged(asked(DECIDED, x=x), wrong) for x in (0.1 - 1e-8, 0.1 + 1e-8))
    return Planted(judged(asked(DECIDED, x=0.1), wrong), "changes a decision", found)


LOGISTIC = """def f(x):
    acc = x
    for i in range(100):
        acc = 3.9 * acc * (1.0 - acc)
    return acc
"""


@excuse(
    "A chaotic computation loses all digits out of proportion to the roundoff. The same mistake is found"
    " while"
    " it is not chaotic yet.",
    f"{ALLOWED} _run: Reason.NOISE",
    "fuzzer/tolerance/perturbed.py: SMALL",
    f"{ALLOWED}: _SIMILAR",
    f"{ALLOWED}: _SATURATED",
    f"{ALLOWED}: _MINOR",
)
def a_chaotic_computation() -> Planted:
    short = asked(LOGISTIC.replace("100", "10"), x=0.3)
    return Planted(judged(asked(LOGISTIC, x=0.3), times(2.0)), "chaotic", (judged(short, times(1.001)),))


EIGENVECTOR = "w, v = eigh(x); v[0, 1]"


@excuse(
    "Two eigenvalues are equal to the engine, and the derivative depends on their gap. The same mistake is"
    " found where they are apart.",
    f"{ALLOWED} _alone: Reason.DOMAIN",
)
def eigenvalues_that_are_equal_to_the_engine() -> Planted:
    excused = judged(asked(EIGENVECTOR, x=[[1.0, 0.0], [0.0, 1.0 + 2.0**-52]]), times(2.0))
    reached = excused.truth is not None and excused.truth.status == "ok"
    found = tuple(
        judged(asked(EIGENVECTOR, x=[[1.0, 0.0], [0.0, 1.0 + gap]]), times(2.0)) for gap in (1e-9, 0.5)
    )
    return Planted(excused, "not defined", found, reached)


@excuse(
    "Two eigenvalues are closer than the dtype tells. The same mistake is found where they are apart.",
    "fuzzer/tolerance/perturbed_linalg.py: _UNCLEAR",
)
def eigenvalues_that_are_too_close() -> Planted:
    close, apart = (
        judged(asked(EIGENVECTOR, ("rev",), "float32", x=[[1.0, 0.0], [0.0, 1.0 + gap]]), times(2.0))
        for gap in (2.0**-22, 1e-2)
    )
    return Planted(close, "too close for float32 to tell apart", (apart,))


planted_elsewhere(
    "Each rounding is granted as much as the worst order of them makes of it, and a function a few units.",
    (
        "tests/unit/fuzzer/test_tolerance.py::test_a_product_is_granted_a_few_roundings",
        "tests/unit/fuzzer/test_tolerance.py::test_a_sum_of_many_is_granted_as_many",
    ),
    "fuzzer/tolerance/perturbed.py: FUNCTION_UNITS",
)

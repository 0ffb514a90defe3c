"""Plants beside the excuses of functions that are measured: precisions, jumps, noise, kinks, modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import gradfuzz
from gradfuzz.fuzzer.measuring.measure import Inquiry
from gradfuzz.fuzzer.measuring.measured import Measured
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.results.finding import Class, Reason
from gradfuzz.testing import measure_gradient
from tests.excuses.planted import Planted
from tests.excuses.registry import excuse, planted_elsewhere

MEASURE = "fuzzer/measuring/measure.py"
NUMERIC = "fuzzer/measuring/numeric.py"
DIFFERENCES = "fuzzer/tolerance/differences.py"

Function = Callable[[Any], Any]


def decided(f: Function) -> Function:
    """`f`, which cannot be traced: Python decides by a number of its argument."""
    return lambda x: f(x) if float(np.real(np.ravel(x)[0])) > -1e300 else 0.0 * x


def float32_inside(x: float) -> float:
    return float(np.exp(np.float32(x)))


# Precisions -------------------------------------------------------------------------------------------------


def _iterated(x: Any) -> Any:
    for _ in range(6):
        x = x / (1.0 + x * x)
    return x


def _slope(x: Any) -> Any:
    slope = np.ones_like(x)
    for _ in range(6):
        slope, x = slope * (1.0 - x * x) / (1.0 + x * x) ** 2, x / (1.0 + x * x)
    return slope


def _of_float32(f: Function, slope: Function, narrow: float, wide: float = 1.0) -> Any:
    """The measurement in float32 of a gradient that is off by a factor there, and by another in float64."""
    x = np.float32(0.75)
    return measure_gradient(f, x, grad=lambda x: slope(x) * (narrow if x.dtype == np.float32 else wide))


@excuse(
    "A derivative in float32 that is right in float64 may be rounding, where the function is long or cannot"
    " be"
    " traced. A mistake of both precisions is found, and one of float32 in a short function.",
    f"{MEASURE} Inquiry._beside_float64: doubted()",
    f"{MEASURE} Inquiry._in_float64: except Exception",
)
def right_in_float64_at_the_same_inputs() -> Planted:
    found = (
        _of_float32(_iterated, _slope, 1.01, 1.01),
        _of_float32(decided(_iterated), _slope, 1.01, 1.01),
        _of_float32(np.sin, np.cos, 1.5),
    )
    untraced = _of_float32(decided(_iterated), _slope, 1.5)
    reached = "right in float64" in untraced.reason
    return Planted(_of_float32(_iterated, _slope, 1.5), "right in float64", found, reached)


planted_elsewhere(
    "In two bytes a derivative is right if float64 says so and it is within rounding. A tenth too much is"
    " seen.",
    (
        "tests/unit/testing/test_entries.py"
        "::test_a_mistake_that_the_roundoff_of_two_bytes_hides_is_seen_in_float64",
    ),
    f"{MEASURE} Inquiry._beside_float64: Verdict.AGREE",
)


def _by_last_bits(part: float, steady: bool) -> Any:
    """x sin(x) sin(x^2), whose slope is off by a part of it that the last bits of x decide, or that does not
    change.
    """

    def slope(x: Any) -> Any:
        bits = int(np.asarray(x, np.float64).reshape(1).view("i8")[0])
        off = part * (1.0 if steady else (bits % 8) - 3.5)
        s, c = np.sin(x * x), np.cos(x * x)
        return (np.sin(x) * s + x * np.cos(x) * s + 2.0 * x * x * np.sin(x) * c) * (1.0 + off)

    return measure_gradient(lambda x: x * np.sin(x) * np.sin(x * x), 1.3, grad=slope)


@excuse(
    "Answers err to both sides by as much where the last bits differ. A steady error of this size is wrong,"
    " and"
    " so is one at the point alone, and one to a side of it.",
    f"{MEASURE} Inquiry._upheld: Reason.NOISE",
    f"{NUMERIC}: _LANES",
)
def noise_to_both_sides() -> Planted:
    def measured(wrong: Function) -> Any:
        return measure_gradient(np.sin, 0.7, grad=lambda x: np.cos(x) + wrong(x))

    found = (
        _by_last_bits(2e-13, True),
        _by_last_bits(1e-10, True),
        measured(lambda x: 3e-9 + 1e-9 * np.sin(3e16 * x)),
        measured(lambda x: 1e-9 * (x == 0.7)),
        measured(lambda x: 1e-9 * (x >= 0.7)),
    )
    reached = "are off by" in _by_last_bits(2e-13, False).reason
    return Planted(measured(lambda x: 1e-9 * np.sin(3e16 * x)), "off by", found, reached)


# What was traced, and what the function computes ------------------------------------------------------------


def _hidden(x: Any) -> Any:
    """x^2, and for arrays alone a sine that is 0 at x, at 3x/4 and at 5x/4 for x = 1."""
    plain = isinstance(x, float | np.floating | np.ndarray)
    return x * x + np.sin(8.0 * np.pi * x) / 64.0 if plain else x * x


@excuse(
    "The program that was traced and the function's own differences contradict each other. What neither says"
    " is wrong.",
    f"{MEASURE} Inquiry._upheld: Reason.REFERENCES",
    f"{MEASURE}: _SAME",
)
def a_trace_that_does_not_see_all() -> Planted:
    right = measure_gradient(_hidden, 1.0, grad=lambda x: 2.0 * x + np.pi / 8.0)
    found = measure_gradient(_hidden, 1.0, grad=lambda x: 7.0 * x)
    return Planted(right, "contradict each other", (found,))


@excuse(
    "A function that cannot be traced is measured, and a wrong gradient of it is found.",
    f"{MEASURE} Inquiry._recorded: except Exception",
    f"{DIFFERENCES}: _NOISY",
    f"{DIFFERENCES}: _SMALL",
    f"{DIFFERENCES}: TRUSTED",
)
def a_function_that_cannot_be_traced() -> Planted:
    f, x = decided(np.sin), np.array([0.5, 1.25])
    found = tuple(
        measure_gradient(lambda x: np.sum(f(x)), x, grad=lambda x, factor=factor: np.cos(x) * factor)
        for factor in (1.0 + 1e-7, -1.0, 0.0, np.array([1.0, 1.001]))
    )
    right = measure_gradient(lambda x: np.sum(f(x)), x, grad=np.cos)
    return Planted(right, "agree", found, bool(right.untraced))


@excuse(
    "A function raises at a neighbour, about which nothing is said. The mistake at the point is found.",
    f"{MEASURE} Inquiry._numeric: except Exception",
    f"{MEASURE} Inquiry._numeric: Doubt.DOMAIN",
)
def a_function_that_raises_at_a_neighbour() -> Planted:
    def f(x: Any) -> Any:
        if float(np.real(x)) < 0.9:
            raise ValueError("below 0.9")
        return np.sin(x)

    subject = subject_of(f, [1.0], None, lambda x: 2.0 * np.cos(x), None)
    beside = Inquiry(subject).ask(("rev",), 0.75).case
    found = measure_gradient(f, 1.0, grad=lambda x: 2.0 * np.cos(x))
    return Planted(beside, "below 0.9", (found,), beside.reason is Reason.DOMAIN)


def _cube(factor: float, inner: float) -> Function:
    """x^3 of autograd; its slope is off by a factor, and that of its slope by another."""
    from autograd.extend import defvjp, primitive

    square = primitive(lambda x: x * x)
    defvjp(square, lambda ans, x: lambda g: inner * 2.0 * g * x)
    cube = primitive(lambda x: x**3)
    defvjp(cube, lambda ans, x: lambda g: factor * 3.0 * g * square(x))
    return cube  # type: ignore[no-any-return]


@excuse(
    "A gradient is given as the reference, and no derivative of it. A wrong first derivative is found, and a"
    " wrong second one where the exact function is given.",
    f"{MEASURE} Inquiry._given: Doubt.REFERENCES",
)
def a_second_derivative_of_a_given_gradient() -> Planted:
    given = {"framework": "autograd", "modes": "rev", "order": 2}
    stated = gradfuzz.reference(gradient=lambda x: 3.0 * x * x)
    excused = measure_gradient(_cube(1.0, 2.0), 1.5, reference=stated, **given)  # type: ignore[arg-type]
    first = measure_gradient(_cube(2.0, 1.0), 1.5, reference=stated, **given)  # type: ignore[arg-type]
    second = measure_gradient(_cube(1.0, 2.0), 1.5, reference=lambda x: x**3, **given)  # type: ignore[arg-type]
    return Planted(excused, "nothing is known of its derivative", (first, second))


# What the differences cannot tell ---------------------------------------------------------------------------


@excuse(
    "Nothing but a first derivative, or the slope of one that is right, is measured of a function that cannot"
    " be traced. A wrong derivative of a lower order is found.",
    f"{NUMERIC} _unknown: Doubt.REFERENCES",
)
def an_order_that_is_not_measured() -> Planted:
    from autograd import numpy as anp
    from autograd.extend import defvjp, primitive

    def sine(factor: float) -> Function:
        sin = primitive(lambda x: np.sin(x) if float(x) > -9.0 else x)
        cos = primitive(lambda x: np.cos(x) if float(x) > -9.0 else x)
        defvjp(sin, lambda ans, x: lambda g: g * cos(x))
        defvjp(cos, lambda ans, x: lambda g: -factor * g * anp.sin(x))
        return sin  # type: ignore[no-any-return]

    given = {"framework": "autograd", "modes": "rev"}
    third = measure_gradient(sine(1.0), 0.5, order=3, **given)  # type: ignore[arg-type]
    second = measure_gradient(sine(1.5), 0.5, order=3, **given)  # type: ignore[arg-type]
    return Planted(third, "order 3 are not measured", (second,))


@excuse(
    "Of an entry at the end of a domain, or whose differences are noisy, nothing is known. It hides no"
    " other.",
    f"{NUMERIC} _first: inf",
    f"{NUMERIC} _first: inf",
    f"{NUMERIC} _Measured.at: except Exception",
)
def an_entry_at_the_end_of_a_domain() -> Planted:
    def measured(factor: Any) -> Any:
        def f(x: Any) -> float:
            return math.sqrt(float(x[0]) - 1.0) + math.sin(float(x[1])) + math.sin(float(x[2]))

        def slope(x: Any) -> Any:
            return np.array([1e3, math.cos(x[1]), math.cos(x[2])]) * factor

        return measure_gradient(f, np.array([1.0, 0.5, 0.7]), grad=slope)

    found = tuple(measured(np.array(factor)) for factor in ([1.0, 2.0, 1.0], [1.0, 1.0, 1.0 + 1e-6]))
    return Planted(measured(1.0), "", found, bool(np.any(measured(1.0).unjudged["x"])))


@excuse(
    "Of a function that cannot be traced the entries with a kink are left aside. The others are judged.",
    f"{NUMERIC}: _WIDEST",
)
def a_kink_by_some_entries() -> Planted:
    x = np.array([0.0, 1.0, -2.0, 0.0])

    def measured(*gradient: float) -> Measured:
        def hinges(x: Any) -> float:
            return float(sum(v * v + v if v > 0 else 0.0 for v in x.tolist()))

        return measure_gradient(hinges, x, grad=lambda x: np.array(gradient))

    found = (measured(0.0, 3.003, 0.0, 0.0), measured(0.0, 3.0, -1.0, 0.0), measured(0.0, -3.0, 0.0, 1.0))
    return Planted(measured(5.0, 3.0, 0.0, 0.0), "kink", found)


@excuse(
    "At a kink of a function that cannot be traced it is not known how many selections make it: what is"
    " outside"
    " of the slopes is not called. The same mistake is found beside the kink, and an exception at it.",
    f"{NUMERIC} _first: Doubt.KINK",
    f"{DIFFERENCES}: _NOISY_SIDE",
)
def a_kink_of_a_function_that_cannot_be_traced() -> Planted:
    def hinge(x: float) -> float:
        return float(x) if x > 0 else 0.0

    def raises(x: float) -> float:
        raise ValueError("no slope")

    found = (
        measure_gradient(hinge, 0.25, grad=lambda x: 2.0),
        measure_gradient(hinge, -0.25, grad=lambda x: 2.0),
        measure_gradient(hinge, 0.0, grad=raises),
    )
    return Planted(measure_gradient(hinge, 0.0, grad=lambda x: 2.0), "kink", found)


@excuse(
    "Values that do not move: a derivative is next to 0, and how near is not known. A larger one is wrong.",
    f"{NUMERIC} judged_by_numbers: Reason.REFERENCES",
)
def a_tiny_answer_where_nothing_moves() -> Planted:
    def measured(slope: float) -> Any:
        return measure_gradient(math.erf, 8.0, grad=lambda x: slope)

    return Planted(measured(1e-28), "do not change", tuple(map(measured, (1e-10, 1.0, math.nan))))


@excuse(
    "The function does not change with an entry, truly or because rounding hides it. NaN is wrong there, and"
    " what another entry says is judged.",
    f"{NUMERIC} judged_by_numbers: Reason.REFERENCES",
    f"{NUMERIC} _without_flat: inf",
)
def an_entry_that_changes_nothing() -> Planted:
    f = decided(lambda x: np.sum(np.floor(x[:1]) + np.sin(x[1:])))

    def measured(*slopes: float) -> Any:
        return measure_gradient(f, np.array([0.5, 1.25]), grad=lambda x: np.array(slopes))

    right = math.cos(1.25)
    found = (measured(math.nan, right), measured(1.0, 2.0 * right), measured(0.0, 2.0 * right))
    return Planted(measured(1.0, right), "changes with this entry", found)


@excuse(
    "Values that jump, and an answer that is the slope between two jumps: the derivative of each piece of the"
    " code. So a term that is computed in float32 and detached is not seen. Any other answer is wrong, also"
    " beside an entry of that kind, and the same mistake is found where nothing jumps.",
    f"{NUMERIC} judged_by_numbers: Reason.REFERENCES",
    f"{DIFFERENCES}: BETWEEN",
)
def a_slope_between_two_jumps() -> Planted:
    def f(x: Any) -> float:
        return float32_inside(x[0]) + math.sin(x[0]) + math.cos(x[1])

    def smooth(x: Any) -> float:
        return math.exp(x[0]) + math.sin(x[0]) + math.cos(x[1])

    x = np.array([0.5, 0.75])
    exact = np.array([math.exp(0.5) + math.cos(0.5), -math.sin(0.75)])
    detached = np.array([math.cos(0.5), -math.sin(0.75)])

    def measured(f: Function, slopes: Any) -> Any:
        return measure_gradient(f, x, grad=lambda x: slopes)

    reached = not measured(f, exact).wrong
    wrong = (
        *(2.0 * detached, 1.0005 * detached, detached * [1.0, 2.0], detached * [1.0, -1.0]),
        [math.exp(0.5), detached[1]],
    )
    found = (*(measured(f, np.array(slopes)) for slopes in wrong), measured(smooth, detached))
    return Planted(measured(f, detached), "between two jumps", found, reached)


@excuse(
    "Values that jump are noise, by which the bound of a difference is wider. A thousandth is seen where they"
    " jump like float32, and a factor where they jump like bfloat16.",
    f"{NUMERIC}: _JUMPS",
    f"{DIFFERENCES}: COARSE",
)
def values_that_jump() -> Planted:
    f = decided(lambda x: float32_inside(np.real(x)))
    right = measure_gradient(f, 0.5, grad=math.exp)
    found = tuple(
        measure_gradient(f, 0.5, grad=lambda x, factor=factor: factor * math.exp(x))
        for factor in (2.0, 1.01, -1.0, math.nan)
    )
    return Planted(right, "agree", found, float(right.bound["x"]) > 1e-8)


@excuse(
    "The one-sided slopes stay apart at the last step, beside jumps: there is no slope. The same mistake is"
    " found where they do not.",
    f"{DIFFERENCES} slope: inf",
)
def a_kink_between_jumps() -> Planted:
    f = decided(lambda x: abs(float(np.float32(np.real(x))) - 1.0))
    found = measure_gradient(f, 1.5, grad=lambda x: 7.0)
    return Planted(measure_gradient(f, 1.0, grad=lambda x: 7.0), "inconclusive", (found,))


@excuse(
    "An oscillation that is faster than the steps looks like a line, and is not measured. A slower one is.",
    f"{DIFFERENCES} slope: inf",
)
def an_oscillation_faster_than_the_steps() -> Planted:
    def measured(rate: float) -> Any:
        f = decided(lambda x: float(np.real(rate * x * (1.0 + np.sin(rate * x) / 4.0))))
        return measure_gradient(f, 1.0, grad=lambda x: 7.0)

    return Planted(measured(1e9), "too noisy", (measured(1.0), measured(1e2)))


@excuse(
    "Where the slopes along the axes do not make those along a line there is no derivative. The same mistake"
    " is found where they do, also at equal numbers.",
    f"{MEASURE} Inquiry._judged_by_numbers.judge: Reason.KINK",
)
def no_derivative_at_equal_numbers() -> Planted:
    def measured(f: Function, *x: float) -> Any:
        return measure_gradient(decided(f), np.array(x), grad=lambda x: np.array([1.0, 7.0, 0.0]))

    def squares(x: Any) -> Any:
        return float(np.sum(np.real(x) ** 2))

    def median(x: Any) -> Any:
        return float(np.median(np.real(x)))

    excused = measured(median, 0.5, 0.5, 0.5)
    return Planted(
        excused, "along a line", (measured(median, 0.25, 0.5, 0.75), measured(squares, 0.5, 0.5, 0.5))
    )


@excuse(
    "A derivative beyond the largest number of the dtype may be infinite. Where it is in range that is"
    " wrong.",
    "fuzzer/verdict/judge.py _judge_gradient: Reason.RANGE",
)
def a_derivative_beyond_the_dtype() -> Planted:
    def f(x: Any) -> Any:
        return np.sum(np.asarray(1e30 * x.astype(np.float64) ** 3, x.dtype)) if x[0] > -1.0 else x

    def measured(x: float) -> Any:
        infinite = np.array([np.inf], np.float32)
        return measure_gradient(f, np.array([x], np.float32), grad=lambda x: infinite)

    return Planted(measured(1e5), "too large for float32", (measured(1.0), measured(1e-5)))


@excuse(
    "A function that takes its own dtype only is measured in that. A mistake that is larger than its rounding"
    " is found.",
    f"{NUMERIC} _Measured.__init__: except Exception",
)
def a_function_of_float32_alone() -> Planted:
    def f(x: Any) -> Any:
        if x.dtype != np.float32:
            raise TypeError("float32 alone")
        return np.sin(x)

    def measured(factor: float) -> Any:
        return measure_gradient(f, np.float32(0.5), grad=lambda x: np.float32(factor) * np.cos(x))

    return Planted(measured(1.0), "", (measured(2.0), measured(1.05), measured(-1.0)))


planted_elsewhere(
    "The library's own rule is right, and rounding its steps explains an answer. A wrong rule is found,"
    " however large rounding is, and so are NaN in range and lost digits.",
    tuple(
        f"tests/unit/testing/test_own_rule.py::{name}"
        for name in (
            "test_a_wrong_rule_is_seen_where_rounding_is_larger_than_the_derivative",
            "test_a_small_network_of_float32_and_bfloat16_is_right_and_a_wrong_one_is_not",
            "test_nan_in_float32_is_wrong_where_value_and_derivative_are_numbers",
            "test_half_of_the_digits_are_lost_in_a_tail",
        )
    ),
    "fuzzer/measuring/own_rule.py by_rule: Verdict.AGREE",
    "fuzzer/measuring/own_rule.py own_rule: except Exception",
    "fuzzer/measuring/own_rule.py: _NARROW",
    f"{DIFFERENCES}: LOST",
)

# What stops a gradient, modes, and what is drawn ------------------------------------------------------------


def _stopping(factor: float, **allowed: Any) -> Any:
    """x sin(x), with x stopped where Python decided, which JAX's stops cannot be held beside, and the sine
    with a derivative times a factor.
    """
    import jax
    import jax.numpy as jnp

    sine = jax.custom_vjp(jnp.sin)
    sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (factor * g * jnp.cos(x),))

    def f(x: Any, *, hold: bool = allowed.pop("hold", False)) -> Any:
        stopped = jax.lax.stop_gradient(x)
        if hold or float(jnp.sum(stopped)) > -1e300:
            return stopped * sine(x)
        return x

    given = {"framework": "jax", "modes": "rev"}
    return measure_gradient(f, np.array([0.4, 1.3]), **given, **allowed)


@excuse(
    "What the function's own words stop is allowed to be stopped, and cannot be held constant where it cannot"
    " be traced. Held, the same mistake is found, and without the permission, and so is NaN.",
    f"{MEASURE} Inquiry._where_hidden: Reason.REFERENCES",
)
def what_is_stopped_and_cannot_be_held() -> Planted:
    found = (
        _stopping(2.0, hold=True, allow="stop_gradient"),
        _stopping(2.0),
        _stopping(math.nan, allow="stop_gradient"),
    )
    reached = not _stopping(1.0, hold=True, allow="stop_gradient").wrong
    return Planted(_stopping(2.0, allow="stop_gradient"), "cannot hold that value", found, reached)


def _under_no_grad(factor: float, **given: Any) -> Any:
    import torch

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return torch.sin(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return factor * g * torch.cos(ctx.saved_tensors[0])

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return factor * t * torch.cos(ctx.saved_tensors[0])

    def f(x: Any) -> Any:
        with torch.no_grad():
            y = torch.exp(x)
        return y * Sine.apply(x)

    x = torch.tensor([0.4, 1.3], dtype=torch.float64)
    return measure_gradient(f, x, allow="stop_gradient", **given)


@excuse(
    "Forward mode of Torch does not heed no_grad: one step of a second derivative stops, the other does not."
    " The same mistake is found in each mode alone.",
    f"{MEASURE} Inquiry._beside_stops: Reason.REFERENCES",
)
def no_grad_in_mixed_modes() -> Planted:
    import torch

    def f(x: Any) -> Any:
        with torch.no_grad():
            y = torch.exp(x)
        return y * torch.sin(x)

    x = torch.tensor([0.4, 1.3], dtype=torch.float64)
    excused = measure_gradient(f, x, allow="stop_gradient", order=2)
    found = tuple(_under_no_grad(2.0, modes=mode) for mode in ("rev", "fwd"))
    right = all(not _under_no_grad(1.0, modes=mode).wrong for mode in ("rev", "fwd"))
    return Planted(excused, "ignores no_grad", found, right)


def _approximate(factor: Any, accuracy: Any, dropped: float = 0.0) -> Any:
    """y = cos(a y) / 2 in steps until they are small enough, with its gradient and a mistake."""

    def solved(a: Any, tol: float) -> Any:
        y = np.ones_like(a)
        for _ in range(100):
            y, before = np.cos(a * y) / 2.0, y
            if float(np.max(np.abs(y - before))) <= tol:
                break
        return y

    def steps(a: Any, tol: float = 1e-6) -> Any:
        return np.sum(solved(a, tol)[:2])

    def slope(a: Any) -> Any:
        y = solved(a, 1e-6)
        g = np.array([1.0, 1.0, 0.0]) * -y * np.sin(a * y) / (2.0 + a * np.sin(a * y))
        return factor * g - dropped * np.max(np.abs(g))

    return measure_gradient(steps, np.array([0.5, 0.75, 0.25]), grad=slope, accuracy=accuracy)


@excuse(
    "The caller says how exact a function is, or names its tolerance. A factor, a sign, a zero and a term of"
    " a thousandth are found, also in an entry, and a number in the place of a true zero.",
    "fuzzer/measuring/accuracy.py: _TIGHTER",
    "fuzzer/measuring/accuracy.py: _LEAST",
    "fuzzer/measuring/accuracy.py: _AROUND",
    "fuzzer/measuring/accuracy.py: _MOST",
)
def an_accuracy() -> Planted:
    wrong: tuple[Any, ...] = (2.0, -1.0, 0.0, math.nan, 1.001, np.array([1.0, 1.01, 1.0]))
    found = [_approximate(factor, accuracy) for accuracy in (3e-5, "tol") for factor in wrong]
    found += [_approximate(1.0, accuracy, 1e-3) for accuracy in (3e-5, "tol")]
    excused = _approximate(1.0 + 1e-6, "tol")
    return Planted(excused, "agree", tuple(found), _approximate(1.0 + 1e-6, 3e-5).right)


planted_elsewhere(
    "At a kink, and where a number inside leaves the range, a right rule may return another number. What is"
    " granted an accuracy has no such excuse where it errs around the point as well.",
    tuple(
        f"tests/unit/testing/test_accuracy.py::test_{name}"
        for name in (
            "where_a_loop_has_nothing_left_to_do_a_mistake_is_found",
            "an_accuracy_is_to_be_had_where_a_number_inside_leaves_the_range",
        )
    ),
    f"{NUMERIC} apart_around: inf",
    "fuzzer/tolerance/allowed.py Tolerance.of_approximation: inf",
)


def _eigenvalues(factor: float) -> Any:
    """Those of the lower triangle, with their gradient times a factor."""
    import torch

    class Values(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.linalg.eigvalsh(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return factor * torch.func.vjp(torch.linalg.eigvalsh, x)[1](g)[0]

    return Values.apply


def _at_matrix(f: Function, corner: float) -> Any:
    import torch

    return measure_gradient(f, torch.tensor([[2.0, corner], [0.5, -1.0]], dtype=torch.float64))


@excuse(
    "In which triangle the gradient by a symmetric matrix stands is a convention of the library. NaN is none,"
    " and a wrong factor is found, also where the function makes the matrix symmetric itself.",
    f"{MEASURE} Inquiry._by_parts: Verdict.CONVENTION",
)
def a_triangle_that_is_not_read() -> Planted:
    found = (
        _at_matrix(_eigenvalues(math.nan), 0.5),
        _at_matrix(_eigenvalues(1.0 + 1e-9), 0.5),
        _at_matrix(lambda x: _eigenvalues(2.0)((x + x.T) / 2.0), 0.5),
    )
    return Planted(_at_matrix(_eigenvalues(1.0), 0.5), "(x + x^H) / 2 is right", found)


@excuse(
    "Of a matrix that is not symmetric nobody knows where its gradient stands. NaN is wrong there, and the"
    " same mistake is found at a symmetric matrix.",
    f"{MEASURE} Inquiry._where_hidden: Reason.REFERENCES",
)
def a_triangle_of_another_matrix() -> Planted:
    found = _at_matrix(_eigenvalues(math.nan), 0.75), _at_matrix(_eigenvalues(2.0), 0.5)
    return Planted(_at_matrix(_eigenvalues(2.0), 0.75), "may be meant", found)


planted_elsewhere(
    "Rows of an embedding that do not learn by Torch's documents. A wrong factor beside them is found, and"
    " rows that another rule leaves out.",
    (
        "tests/unit/testing/test_real_code.py::test_rows_of_an_embedding_that_do_not_learn",
        "tests/unit/testing/test_real_code.py::test_rows_that_a_rule_of_ones_own_leaves_out",
    ),
    f"{MEASURE} Inquiry._beside_stops: Verdict.CONVENTION",
)


planted_elsewhere(
    "Where the first derivative raises beyond the domain, the second is measured closer to the point. A wrong"
    " factor is found there.",
    (
        "tests/unit/testing/test_numeric.py"
        "::test_a_second_derivative_is_measured_close_to_the_end_of_a_domain",
    ),
    f"{NUMERIC} _second.gradient: except Exception",
)


planted_elsewhere(
    "A mode that the framework lacks by its list is not asked. An exception that is not on the list fails,"
    " and"
    " so does a wrong derivative in the mode that there is.",
    tuple(
        f"tests/unit/testing/test_exceptions.py::test_{name}"
        for name in (
            "no_exception_is_a_refusal_by_its_type",
            "forward_mode_of_a_custom_vjp_is_lacking",
            "reverse_mode_of_a_while_loop_is_lacking",
            "an_exception_of_a_rule_of_jax_fails",
            "what_a_function_of_torch_lacks",
            "an_exception_of_a_backward_of_torch_fails",
            "a_rule_that_autograd_does_not_have",
        )
    ),
    f"{MEASURE} Inquiry._judged_by_numbers.judge: Verdict.UNSUPPORTED",
    "testing/check.py _found: Verdict.UNSUPPORTED",
    "fuzzer/measuring/oracle.py FunctionOracle._refused: Answer 'unsupported'",
)


@excuse(
    "A function that returns other values each time is not judged. Where it does not, the mistake is found.",
    "testing/check.py _found: Verdict.INCONCLUSIVE",
    "fuzzer/measuring/subject.py: _LOOKS",
)
def a_function_that_draws() -> Planted:
    rng = np.random.default_rng(0)
    drawing = decided(lambda x: np.sin(x) + rng.normal())
    found = measure_gradient(decided(np.sin), 0.5, grad=lambda x: 2.0 * np.cos(x))
    excused = measure_gradient(drawing, 0.5, grad=lambda x: 2.0 * np.cos(x))
    return Planted(excused, "other values each time", (found,), found.kind is Class.WRONG_VALUE)


planted_elsewhere(
    "What Torch compiled for one backward pass is not asked twice. What else the second one raises is wrong.",
    ("tests/unit/testing/test_ways.py::test_what_torch_compiled_for_one_pass_is_not_asked_twice",),
    "fuzzer/measuring/oracle.py FunctionOracle._derivative: except Exception",
)


planted_elsewhere(
    "The rule of a loop that autograd does not see may be that of what the steps approach, less than a tenth"
    " away from theirs (`Inquiry._of_what_is_approached`). Twice the rule, and the other sign, are found.",
    (
        "tests/unit/testing/test_loops_by_value.py::test_the_rule_of_a_loop_next_to_a_jump",
        "tests/unit/testing/test_loops_by_value_jax.py::test_a_rule_may_be_that_of_what_the_steps_approach",
    ),
)


@excuse(
    "Torch differentiates draws from gamma distributions to 5e-3 (`Library.draws_to`), as if they were made"
    " by the inverse of the distribution. A tenth too much, and the other sign, are found.",
)
def a_draw_that_is_differentiated() -> Planted:
    import torch

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, share: float) -> Any:
            ctx.share = share
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.share * g, None

    def measured(share: float) -> Measured:
        x = torch.tensor([1.7, 0.6], dtype=torch.float64)
        draw = lambda a: torch.distributions.Gamma(Times.apply(a, share), 1.0).rsample()  # noqa: E731
        return measure_gradient(draw, x, modes="rev")

    right = measured(1.0)
    return Planted(right, "agree", (measured(1.1), measured(-1.0)), right.accuracy == 5e-3)

"""Truths about code that computes in float32, half or bfloat16 inside, stops by a value, or drops an
imaginary part: right gradients are not called wrong, wrong ones of the same function are.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from gradfuzz import check_gradient
from gradfuzz.fuzzer.measuring.measured import InconclusiveWarning
from gradfuzz.fuzzer.measuring.oracle import FunctionOracle
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.tolerance.differences import Slope, jump_share, slope
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing import measure_gradient

ROUNDOFF = 2.0**-53
BFLOAT16 = FORMATS["bfloat16"].dtype


def cast(dtype: object) -> Callable[[float], float]:
    return lambda x: float(np.asarray(x, np.float64).astype(dtype))


def inside(f: Callable[[float], float], dtype: object) -> Callable[[float], float]:
    """`f` of rounded numbers, and its value rounded."""
    rounded = cast(dtype)
    return lambda x: rounded(f(rounded(x)))


def slope_at(f: Callable[[float], float], x: float, size: float) -> Slope:
    found = slope(lambda t: f(x + t), size, ROUNDOFF)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("dtype", "x", "known"),
    [
        (np.float32, 0.5, 1e-3),
        (np.float32, 1e-6, 1e-3),
        (np.float16, 0.3, 0.1),
        (BFLOAT16, 0.05, 0.1),
        (BFLOAT16, 1.3, 0.5),
    ],
)
def test_the_steps_of_a_lower_precision_are_in_the_bound(dtype: object, x: float, known: float) -> None:
    found = slope_at(inside(math.exp, dtype), x, x)
    assert abs(found.value - math.exp(x)) <= found.bound <= known * math.exp(x)
    assert found.jump > 0.0
    assert found.between == 0.0


def test_steps_beside_a_smooth_term_are_in_the_bound() -> None:
    exp = inside(math.exp, np.float32)
    found = slope_at(lambda x: exp(x) + math.sin(x), 0.5, 0.5)
    assert abs(found.value - math.exp(0.5) - math.cos(0.5)) <= found.bound <= 1e-3
    assert found.between == pytest.approx(math.cos(0.5), rel=1e-6)


def beside_a_larger_term(x: float) -> float:
    """1 + x in float32, whose steps are wider than a small x, and a smooth term; the slope is 1.25."""
    rounded = cast(np.float32)
    return rounded(1.0 + rounded(x)) + x / 4.0


@pytest.mark.parametrize("x", [1e-6, 3e-7, 1e-8, 1e-10])
def test_steps_wider_than_the_input_are_in_the_bound(x: float) -> None:
    def shifted(t: float) -> float:
        return beside_a_larger_term(x + t)

    found = slope(shifted, x, ROUNDOFF, lambda: jump_share(shifted, x, ROUNDOFF))
    assert found is not None
    assert abs(found.value - 1.25) <= found.bound <= 1e-3


@pytest.mark.parametrize("seed", [30, 48, 111])
def test_values_that_rest_between_large_jumps_have_no_slope_of_0(seed: int) -> None:
    """A sum of products in bfloat16 next to a point where none of them moves."""
    rng, rounded = np.random.default_rng(seed), cast(BFLOAT16)
    at, slopes, x = 3.0 * rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal()

    def products(x: float) -> float:
        return sum(rounded(c + rounded(x) * w) for c, w in zip(at, slopes, strict=True))

    found = slope_at(products, x, abs(x))
    assert abs(found.value - sum(slopes)) <= found.bound
    found = slope_at(lambda x: 5.0 if x > 1.05 else 3.0, 1.0, 1.0)  # one jump of its own
    assert (found.value, found.flat) == (0.0, False)
    assert found.bound < 1e-12


def test_a_large_jump_farther_away_hides_nothing() -> None:
    def f(t: float) -> float:
        return 1.0 + 1e-8 * t + (5.0 if t > 0.7 else 0.0)

    assert jump_share(f, 1.0, ROUNDOFF) == 0.0
    assert jump_share(lambda t: 1.0 + 1e-8 * math.sin(t), 1.0, ROUNDOFF) == 0.0


def test_a_kink_between_steps_is_no_slope() -> None:
    rounded = cast(BFLOAT16)
    assert slope_at(lambda x: abs(rounded(x) - 1.0), 1.0, 1.0).bound == math.inf


def bisected(c: float, tolerance: float) -> float:
    """The root of x^3 + x = c."""
    low, high = 0.0, 4.0
    while high - low > tolerance:
        x = (low + high) / 2.0
        low, high = (low, x) if x**3 + x > c else (x, high)
    return (low + high) / 2.0


def slope_of_root(c: float) -> float:
    return 1.0 / (3.0 * bisected(c, 1e-15) ** 2 + 1.0)


def damped(c: float, tolerance: float) -> float:
    """The root of c, by half of Newton's steps."""
    x = c
    while True:
        new = x - (x * x - c) / (4.0 * x)
        if abs(new - x) < tolerance:
            return new
        x = new


SOLVERS = {
    "bisection": (bisected, slope_of_root, (0.3, 20.0)),
    "half Newton": (damped, lambda c: 0.5 / math.sqrt(c), (0.2, 30.0)),
}


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("name", SOLVERS)
def test_the_jumps_of_a_stopping_rule_are_in_the_bound(name: str, tolerance: float, seed: int) -> None:
    solve, exact, interval = SOLVERS[name]
    rng = np.random.default_rng(seed)
    for c in rng.uniform(*interval, 20).tolist():

        def root(t: float, c: float = c) -> float:
            return solve(c + t, tolerance) if c + t > 0.0 else math.nan

        found = slope(root, c, ROUNDOFF)
        assert found is not None
        assert abs(found.value - exact(c)) <= found.bound, c
        if tolerance < 1e-3:
            assert found.bound <= 1e-3 * exact(c)


@pytest.mark.parametrize("f", [lambda x: max(x, 0.0), lambda x: 3.0], ids=["relu", "constant"])
def test_what_does_not_move_and_jumps_nowhere_is_constant(f: Callable[[float], float]) -> None:
    found = slope_at(f, -8.0, 8.0)
    assert (found.value, found.flat) == (0.0, False)
    assert found.bound < 1e-14


def test_what_jumps_farther_away_may_hide_a_slope() -> None:
    assert slope_at(math.floor, 0.5, 0.5).flat
    assert slope_at(lambda x: (x + 1e16) - 1e16, 0.5, 0.5).flat


def test_a_jump_of_the_function_far_from_the_point_is_its_own() -> None:
    found = slope_at(lambda x: x * x if x < 0.6 else 5.0, 0.5, 0.5)
    assert abs(found.value - 1.0) <= found.bound <= 1e-12


@pytest.mark.parametrize("rate", [10.0**k for k in range(1, 12)])
@pytest.mark.parametrize("size", [1.0, 60.0])
def test_an_oscillation_that_is_faster_than_the_steps_has_no_slope(rate: float, size: float) -> None:
    """y (1 + sin(y) / 4) for y = rate x, at x = 1: by steps of many periods it looks like a line."""

    def f(t: float) -> float:
        y = rate * (1.0 + t)
        return y * (1.0 + math.sin(y) / 4.0)

    exact = rate * (1.0 + math.sin(rate) / 4.0 + rate * math.cos(rate) / 4.0)
    found = slope(f, size, ROUNDOFF)
    assert found is not None
    assert abs(found.value - exact) <= found.bound or found.bound > 0.1 * abs(found.value)


def test_values_that_jump_by_half_of_themselves_have_no_slope() -> None:
    """As the inverse of a matrix that rounding alone keeps from being singular."""
    found = slope(lambda t: 1.0 / t if t else 1e16, 1.0, ROUNDOFF)
    assert found is None or found.bound == math.inf
    stepped = slope_at(lambda x: math.floor(1e5 * x) / 1e5, 0.5, 0.5)  # smaller jumps hide no slope
    assert abs(stepped.value - 1.0) <= stepped.bound <= 0.1


# As gradients -----------------------------------------------------------------------------------------------


def decided(f: Callable[[float], float]) -> Callable[[float], float]:
    """`f`, which cannot be traced: Python decides on its argument."""
    return lambda x: f(float(x)) if x.real > -1e300 else 0.0


FUNCTIONS = {
    "float32": (inside(math.exp, np.float32), math.exp, 0.5),
    "float32 near 0": (inside(math.exp, np.float32), math.exp, 1e-6),
    "float32 and a smooth term": (
        lambda x: cast(np.float32)(math.exp(cast(np.float32)(x))) + math.sin(x),
        lambda x: math.exp(x) + math.cos(x),
        0.5,
    ),
    "float32 beside a larger term": (beside_a_larger_term, lambda x: 1.25, 1e-8),
    "solver": (lambda c: bisected(c, 1e-7), slope_of_root, 3.0),
    "half Newton": (lambda c: damped(c, 1e-8), lambda c: 0.5 / math.sqrt(c), 3.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_of_code_that_jumps(name: str) -> None:
    f, exact, x = FUNCTIONS[name]
    assert measure_gradient(decided(f), x, grad=exact).verdict is Verdict.AGREE
    for factor in (2.0, 1.001, 0.999, -1.0):
        measured = measure_gradient(decided(f), x, grad=lambda x, k=factor: k * exact(x))
        assert measured.wrong or abs(factor - 1.0) < 0.01, factor
        assert measured.verdict is not Verdict.AGREE or name == "half Newton", factor
    assert measure_gradient(decided(f), x, grad=lambda x: math.nan).wrong


@pytest.mark.parametrize(("dtype", "x"), [(BFLOAT16, 0.05), (np.float16, 0.3)])
def test_a_gradient_of_code_in_half_precision(dtype: object, x: float) -> None:
    f = decided(inside(math.exp, dtype))
    assert not measure_gradient(f, x, grad=math.exp).wrong
    assert measure_gradient(f, x, grad=lambda x: 3.0 * math.exp(x)).wrong


def test_the_slope_between_two_jumps_is_no_wrong_answer() -> None:
    """That of a quantization is 0, by the derivative of its code; twice the slope across is wrong."""
    f = decided(lambda x: math.floor(1e5 * x) / 1e5)
    assert measure_gradient(f, 0.5, grad=lambda x: 0.0).verdict is Verdict.INCONCLUSIVE
    assert measure_gradient(f, 0.5, grad=lambda x: 2.0).wrong


ERF = 2.0 / math.sqrt(math.pi)


@pytest.mark.parametrize(
    ("f", "grad", "x"),
    [
        (math.erf, lambda x: ERF * math.exp(-x * x), 8.0),
        (lambda x: 1 / (1 + math.exp(-x)), lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2, 40.0),
        (lambda x: float(np.exp(np.float32(x))), math.exp, 1e-6),
    ],
    ids=["erf", "logistic", "float32"],
)
def test_an_imaginary_part_that_is_dropped_is_no_slope_of_0(f, grad, x: float) -> None:
    measured = measure_gradient(f, x, grad=grad)
    assert measured.verdict in (Verdict.AGREE, Verdict.INCONCLUSIVE)
    assert measured.method == "Richardson"
    assert measure_gradient(f, x, grad=lambda x: grad(x) + 1e-3).wrong
    assert measure_gradient(f, x, grad=lambda x: math.inf).wrong


def test_a_part_of_the_imaginary_part_is_not_enough() -> None:
    """Where one term keeps it and the other drops it, the differences decide."""

    def f(x):
        return x * x + np.exp(np.real(x)) if float(x.real) > -9.0 else x

    exact = 2.0 * 0.5 + math.exp(0.5)
    measured = measure_gradient(f, 0.5, grad=lambda x: exact)
    assert (measured.verdict, measured.method) == (Verdict.AGREE, "Richardson")
    assert measure_gradient(f, 0.5, grad=lambda x: 2.0 * x).wrong


def test_a_tiny_answer_where_nothing_moves_is_not_judged() -> None:
    assert measure_gradient(math.erf, 8.0, grad=lambda x: 0.0).verdict is Verdict.AGREE
    assert measure_gradient(math.erf, 8.0, grad=lambda x: 1e-28).verdict is Verdict.INCONCLUSIVE
    assert measure_gradient(math.erf, 8.0, grad=lambda x: 1e-10).wrong


@pytest.mark.parametrize("name", ["float", "bfloat16"])
def test_a_cast_inside_a_function_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")

    class Exp(torch.autograd.Function):
        """Its gradient is off by a factor."""

        @staticmethod
        def forward(ctx, x, factor):
            y = torch.exp(getattr(x, name)()).double()
            ctx.save_for_backward(factor * torch.exp(x.double()))
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    x = torch.tensor([1e-6 if name == "float" else 0.05], dtype=torch.float64)
    with warnings.catch_warnings():  # that of bfloat16 may be inconclusive
        warnings.simplefilter("ignore", InconclusiveWarning)
        check_gradient(lambda x: torch.exp(getattr(x, name)()).double(), x)
    assert not measure_gradient(lambda x: Exp.apply(x, 1.0), x).wrong
    assert measure_gradient(lambda x: Exp.apply(x, 3.0), x).wrong
    if name == "float":
        assert measure_gradient(lambda x: Exp.apply(x, 1.0), x).verdict is Verdict.AGREE
        assert measure_gradient(lambda x: Exp.apply(x, 2.0), x).wrong
        assert measure_gradient(lambda x: Exp.apply(x, 1.001), x).wrong


@pytest.mark.parametrize(("name", "off"), [("float", 1.0001), ("half", 1.5)])
@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_function_of_torch_that_rounds_its_inputs(name: str, off: float, wrong: int) -> None:
    """The square of a number of fewer digits, with a factor on its slope or on the slope of that."""
    torch = pytest.importorskip("torch")
    first, second = (off if wrong == order else 1.0 for order in (1, 2))

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return first * 2.0 * x

        @staticmethod
        def backward(ctx, g):
            return second * 2.0 * g

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return getattr(x, name)() ** 2

        @staticmethod
        def backward(ctx, g):
            return g.to(ctx.saved_tensors[0].dtype) * Twice.apply(ctx.saved_tensors[0])

    x = torch.tensor([0.625, -1.5], dtype=torch.float64)
    for order in (1, 2):
        found = measure_gradient(lambda x: Square.apply(x), x, order=order, modes="rev")
        expected = Verdict.DISAGREE if 0 < wrong <= order else Verdict.AGREE
        assert (found.verdict, found.method) == (expected, "traced"), found.reason


@pytest.mark.parametrize("factor", [1.0, 1.5, -1.0])
def test_a_second_derivative_of_which_float32_hides_a_part(factor: float) -> None:
    """The slope of y (1 + sin(y) / 4) is near 1, and a y of 1e-6 moves it by less than a step of float32."""
    torch = pytest.importorskip("torch")

    class Same(torch.autograd.Function):
        """The identity, and that of its gradient, whose derivative is off by a factor."""

        @staticmethod
        def forward(ctx, x, off):
            ctx.off = off
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return (Same.apply(g, factor) if ctx.off == 1.0 else ctx.off * g), None

    def f(x):
        x.tolist()  # no program is traced of it
        y = (x * (1 + torch.sin(x) / 16)).float()
        y = torch.stack([y[0] + y[1], y[0] - y[1]]) / 2
        y = Same.apply(y * (1 + torch.sin(y) / 4), 1.0)
        return y * (1 + y / 4)

    x = torch.tensor([5.848705768585205e-07, 2.2836029529571533e-06], dtype=torch.float64)
    found = measure_gradient(f, x, order=2, modes="rev")
    assert found.verdict is (Verdict.AGREE if factor == 1.0 else Verdict.DISAGREE), found.reason
    assert found.method == "Richardson"


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_series_that_does_not_end_farther_away_is_measured(factor: float) -> None:
    """1 + x + x^2 + ... stops by a value; from x = 1 on it never does."""

    def series(x: float) -> float:
        total, power = 0.0, 1.0
        while abs(power) > 1e-9:
            total, power = total + power, power * x
        return total

    found = measure_gradient(series, 0.25, grad=lambda x: factor / (1.0 - x) ** 2)
    assert found.verdict is (Verdict.AGREE if factor == 1.0 else Verdict.DISAGREE)


@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_a_traced_series_is_not_asked_where_it_does_not_end(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 + x + x^2 + ... at 0.9, with its slope 1 / (1 - x)^2 times a factor."""
    jax = pytest.importorskip("jax")
    largest: list[float] = []

    def steps(x):
        following = lambda carry: abs(carry[1]) > 1e-17  # noqa: E731
        return jax.lax.while_loop(
            following, lambda carry: (carry[0] + carry[1], carry[1] * x), (0 * x, 1 + 0 * x)
        )

    @jax.custom_vjp
    def series(x):
        return steps(x)[0]

    def answer(oracle, question):
        largest.extend(float(x) for point in question.points for x in point.inputs.values())
        return ask(oracle, question)

    series.defvjp(lambda x: (series(x), x), lambda x, g: (factor * g / (1.0 - x) ** 2,))
    ask = FunctionOracle.answer
    monkeypatch.setattr(FunctionOracle, "answer", answer)
    with jax.enable_x64(True):
        found = measure_gradient(series, jax.numpy.asarray(0.9))
    assert (found.method, found.wrong) == ("traced", factor != 1.0)
    assert 0.9 in largest
    assert max(largest) < 1.0


def median(x):
    return float(np.median(x)) if np.max(x) > -9.0 else x[0]  # Python decides, so it is not traced


@pytest.mark.parametrize("place", range(5))
def test_a_median_of_equal_numbers_has_no_derivative(place: int) -> None:
    """One by one they move nothing, and together they do. Any of them may get the gradient."""
    x = np.array([1.0, 0.0, 0.0, 0.0, -1.0])
    chosen = np.eye(5)[place]
    found = measure_gradient(median, x, grad=lambda x: chosen)
    assert found.verdict is Verdict.INCONCLUSIVE, found
    assert "along a line" in found.reason
    apart = np.array([1.0, 0.25, 0.0, -0.25, -1.0])
    assert measure_gradient(median, apart, grad=lambda x: chosen).wrong is (place != 2)


def test_equal_numbers_of_a_function_that_has_a_derivative_hide_nothing() -> None:
    def f(x):
        return float(np.sum(x * x)) if np.max(x) > -9.0 else x[0]

    x = np.array([1.0, 0.0, 0.0, 0.0, -1.0])
    assert measure_gradient(f, x, grad=lambda x: 2.0 * x).verdict is Verdict.AGREE
    assert measure_gradient(f, x, grad=lambda x: 2.0 * x + np.array([0, 0, 1, 0, 0])).wrong


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [
        *((dtype, factor) for dtype in ("float32", "complex64") for factor in (1.0, 1.001, -1.0)),
        *(("bfloat16", factor) for factor in (1.0, -1.0)),
    ],
)
def test_a_cotangent_has_the_digits_of_its_output(dtype: str, factor: float) -> None:
    """A number that is decided by, and cast."""
    torch = pytest.importorskip("torch")

    class Times(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: object, x: object) -> object:
            return x.clone()  # type: ignore[attr-defined]

        @staticmethod
        def backward(ctx: object, g: float) -> float:
            return factor * g

    def f(x: object) -> object:
        y = Times.apply(x)
        return torch.stack([y, 3.0 * y] if float(x.detach()) > 0.0 else [y, y]).to(getattr(torch, dtype))  # type: ignore[arg-type]

    found = measure_gradient(f, torch.tensor(1.92578125, dtype=torch.float64), modes="rev")
    assert found.untraced
    assert found.verdict is (Verdict.AGREE if factor == 1.0 else Verdict.DISAGREE), found.reason

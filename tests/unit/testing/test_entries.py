"""A gradient is judged entry by entry: what cannot be judged hides no wrong entry, and is said."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradfuzz import check_gradient
from gradfuzz.fuzzer.measuring.measured import InconclusiveError, InconclusiveWarning, Measured
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.oracles.base import Mode
from gradfuzz.testing import measure_gradient

torch = pytest.importorskip("torch")

Function = Callable[[Any], Any]


def softmax(x: Any) -> Any:
    return torch.softmax(x, -1)


def gaussian(x: Any) -> Any:
    return torch.exp(-x * x)


def ruled(f: Function, change: Callable[[Any, Any], Any]) -> Function:
    """`f`, and a rule that changes its gradient: `change(gradient, x)`."""

    class Ruled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return f(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return change(torch.func.vjp(f, x)[1](g)[0], x)

    return Ruled.apply  # type: ignore[no-any-return]


def right(f: Function) -> Function:
    return ruled(f, lambda g, x: g)


def twice(f: Function) -> Function:
    return ruled(f, lambda g, x: 2 * g)


def tensor(x: Sequence[float], dtype: str = "float64") -> Any:
    return torch.tensor(x, dtype=getattr(torch, dtype))


MASKED: list[tuple[Function, Any]] = [
    (softmax, tensor([0.5, 1.0, -1e9])),
    (softmax, tensor([0.5, 1.0, -1e4])),
    (softmax, tensor([0.5, 1.0, -math.inf])),
    (softmax, tensor([*np.linspace(-1.0, 1.0, 9), -math.inf, -1e9])),
    (softmax, tensor([0.5, 1.0, -1e9], "float32")),
    (lambda x: torch.log_softmax(x, -1)[:2], tensor([0.5, 1.0, -1e9])),
    (torch.nn.functional.softplus, tensor([-1.0, 0.5, 90.0], "float32")),
    (torch.sigmoid, tensor([0.3, -200.0], "float32")),
    (gaussian, tensor([0.3, 30.0])),
]


@pytest.mark.parametrize(("f", "x"), MASKED)
def test_an_entry_that_underflows_hides_no_other(f: Function, x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gradient(right(f), x)
    assert measure_gradient(twice(f), x).verdict is Verdict.DISAGREE


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.01, 1.0])
def test_an_entry_is_judged_that_hundreds_of_bits_lose_beside_another(factor: float) -> None:
    f = ruled(torch.nn.functional.logsigmoid, lambda g, x: torch.where(x > 1.0, factor * g, g))
    measured = measure_gradient(f, tensor([600.0, 0.5]))
    assert measured.verdict is (Verdict.AGREE if factor == 1.0 else Verdict.DISAGREE)


@pytest.mark.parametrize("masked", [-1e9, -1e4, -math.inf])
@pytest.mark.parametrize("wrong", [math.nan, 1.0])
def test_a_masked_entry_has_the_gradient_0(masked: float, wrong: float) -> None:
    f = ruled(softmax, lambda g, x: torch.where(x == masked, wrong, g))
    measured = measure_gradient(f, tensor([0.5, 1.0, masked]))
    assert (measured.verdict, measured.worst) == (Verdict.DISAGREE, ("x", (2,)))
    assert measured.worst_expected == 0.0


def test_entries_that_are_not_judged_are_counted_and_named() -> None:
    """1 - tanh^2 is 0 in float64 at 20, where 4 exp(-40) = 1.7e-17 is right."""
    with pytest.warns(InconclusiveWarning, match=r"2 of 3 entries .* are right, and 1 is not judged: x\[1\]"):
        check_gradient(right(torch.tanh), tensor([0.5, 20.0, -1.0]))
    with pytest.raises(InconclusiveError, match=r"x\[1\]"):
        check_gradient(right(torch.tanh), tensor([0.5, 20.0, -1.0]), strict=True)
    with pytest.raises(InconclusiveError, match=r"1 of 3 entries .* x\[1\], x\[2\]"):  # less than half
        check_gradient(right(torch.tanh), tensor([0.5, 20.0, 21.0]))
    assert measure_gradient(right(torch.tanh), tensor([20.0])).verdict is Verdict.INCONCLUSIVE
    assert measure_gradient(twice(torch.tanh), tensor([0.5, 20.0, 21.0])).verdict is Verdict.DISAGREE


# A derivative that is wrong at one point alone


def sine_by_hand(x: Any) -> Any:
    return torch.tensor(np.array([math.sin(v) for v in x.tolist()]))


def slope_of_sine(wrong: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda g, x: torch.where(wrong(x), 0.5 * g, g)


def tied(x: Any) -> Any:
    return torch.cat([x[:1] != x[:1], x[1:] == x[:-1]])


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(
    ("wrong", "x"),
    [
        (lambda x: x == 1.0, [1.0]),
        (lambda x: x == 1.0, [1.0, 2.0, 0.5]),
        (lambda x: x <= 1.0, [1.0]),
        (lambda x: x >= 1.0, [1.0, 0.25]),
        (lambda x: x == 0.0, [0.0, 0.5]),
        (tied, [0.7, 0.7]),
        (tied, [0.7, 0.7, 0.3]),
        (tied, [*np.linspace(0.1, 1.0, 20), 1.0]),
    ],
)
def test_a_rule_that_is_wrong_at_the_point_and_right_next_to_it(
    traced: bool, wrong: Callable[[Any], Any], x: list[float]
) -> None:
    class Sine(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.sin(x) if traced else sine_by_hand(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return torch.where(wrong(x), 0.5, 1.0) * torch.cos(x) * g

    measured = measure_gradient(Sine.apply, tensor(x))
    assert measured.verdict is Verdict.DISAGREE
    assert (measured.method == "traced") == traced


def test_rounding_that_errs_to_both_sides_is_none_of_that() -> None:
    """The last bits of x decide what is added to the slope, up to a billionth to either side."""

    class Lossy(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.tensor(math.sin(float(x)), dtype=torch.float64)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (torch.cos(x) + 1e-9 * torch.sin(3e16 * x))

    for value in np.linspace(0.3, 1.2, 7):
        assert measure_gradient(Lossy.apply, tensor(value)).verdict is not Verdict.DISAGREE  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "index", "mode", "ratio"),
    [("prod", [0, 0, 1], "fwd", 0.0), ("prod", [1, 0, 2], "fwd", 0.0), ("amax", [1, 0, 2], "rev", 0.5)],
)
def test_scatter_reduce(how: str, index: list[int], mode: str, ratio: float) -> None:
    """Torch 2.13 and 2.14: forward mode of prod is 0, and amax without itself halves what one entry gets."""
    x, y = tensor([1.5, 2.0, 3.0]), tensor([2.0, 3.0, 5.0])
    measured = measure_gradient(
        lambda x, y: torch.scatter_reduce(x, 0, torch.tensor(index), y, how, include_self=how == "prod"),
        x,
        y,
        modes=mode,  # type: ignore[arg-type]
    )
    assert measured.verdict is Verdict.DISAGREE
    assert measured.ratio == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_row_of_causal_attention_with_one_key(seed: int) -> None:
    """Its derivative by the query is exactly 0, and every kernel computes it by a cancellation."""
    torch.manual_seed(seed)
    q, k, v = (torch.randn(1, 2, 5, 4, dtype=torch.float64) for _ in range(3))

    def attention(q: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def spurious(g: Any, q: Any) -> Any:
        wrong = g.clone()
        wrong[0, 1, 0, 2] += 1e-12
        return wrong

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gradient(right(attention), q)
    assert measure_gradient(ruled(attention, spurious), q).verdict is Verdict.DISAGREE


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_mistake_that_the_roundoff_of_two_bytes_hides_is_seen_in_float64(dtype: str) -> None:
    """A tenth too much is within what eight products may lose in bfloat16."""

    def f(x: Any) -> Any:
        for _ in range(3):
            x = torch.sin(x * x + 0.5)
        return x

    x = tensor([0.5, 0.75, -1.25], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gradient(right(f), x)
    for change in (1.1, 0.75, -1.0):
        measured = measure_gradient(ruled(f, lambda g, x, change=change: change * g), x)  # type: ignore[misc]
        assert measured.verdict is Verdict.DISAGREE


def test_an_exception_at_a_kink_is_told() -> None:
    def raises(g: Any, x: Any) -> Any:
        raise TypeError("no rule")

    assert measure_gradient(ruled(torch.abs, raises), tensor([0.0, 1.0])).verdict is Verdict.CRASHED


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, Verdict.AGREE), (1.1, Verdict.DISAGREE)])
def test_the_side_of_a_comparison_excuses_its_own_slope_alone(factor: float, verdict: Verdict) -> None:
    """`interp` compares numbers that are equal, and is smooth between the knots."""
    jax = pytest.importorskip("jax")

    def interp(x: Any, y: Any) -> Any:
        return jax.numpy.interp(x, np.arange(5.0), y)

    ruled = jax.custom_vjp(interp)
    ruled.defvjp(
        lambda *at: (interp(*at), at),
        lambda at, g: tuple(factor * part for part in jax.vjp(interp, *at)[1](g)),
    )
    with jax.enable_x64(True):
        x, y = jax.numpy.array([0.3, 2.6]), jax.numpy.array([0.4, -0.7, 1.2, 0.1, -1.5])
        assert measure_gradient(ruled, x, y).verdict is verdict


def test_numbers_near_both_ends_of_the_range_are_judged() -> None:
    """exp(700) = 1.01e304 and exp(-700) are numbers of float64, as every derivative of theirs is."""
    x = tensor(np.linspace(-700.0, 700.0, 9))  # type: ignore[arg-type]
    assert measure_gradient(right(torch.exp), x).verdict is Verdict.AGREE
    assert measure_gradient(ruled(torch.exp, lambda g, x: g.flip(0)), x).verdict is Verdict.DISAGREE


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_where_no_entry_can_be_judged_nothing_is_called_wrong_or_right(mode: Mode) -> None:
    """The condition number of a singular matrix: all entries of its derivative may be anything."""
    jnp = pytest.importorskip("jax.numpy")
    rows = np.array([[-1.0, 1.0, 3.0], [-1.5, 0.5, 2.5], [-2.0, 0.0, 2.0], [-2.5, -0.5, 1.5]], "float32")
    found = measure_gradient(lambda x: jnp.linalg.cond(jnp.sin(jnp.linalg.cond(x)) * x), rows, modes=mode)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_the_basis_tells_of_the_entries_that_are_known() -> None:
    """The square root at 0 has no slope, and nothing is known of it there."""

    def root(x: np.ndarray) -> float:
        return float(sum(math.sqrt(float(v)) for v in x))

    found = measure_gradient(root, np.array([0.0, 1.0]), grad=lambda x: np.array([7.0, 0.5]))
    assert found.unjudged
    assert "known to" in found.basis
    assert "nan" not in found.basis
    assert "inf" not in found.basis


def test_entries_asked_along_directions_are_counted() -> None:
    """There is no whole gradient then, and the entries that are not judged are no fewer than none."""
    unjudged = {"x": np.array([True, False, False])}
    assert Measured(Verdict.AGREE, "f", "torch", "float64", unjudged=unjudged).judged == (2, 3)

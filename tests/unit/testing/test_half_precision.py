"""Mistakes in half precision, in which rounding is allowed a quarter of a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import signed
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.fuzzer.verdict.classify import compare
from gradfuzz.programs.language.precision import Precision
from gradfuzz.testing import measure_gradient

torch = pytest.importorskip("torch")


class _Exp(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """exp in bfloat16 of numbers in float64, with cotangents that are rolled by `shift`."""

    @staticmethod
    def forward(ctx, x, shift):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        ctx.shift = shift
        return torch.exp(x.bfloat16()).double()

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return (torch.roll(g, ctx.shift, 0).bfloat16() * torch.exp(x.bfloat16())).double(), None


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("x", [[0.05, 0.5], [0.3, 0.3], [-0.2, 0.1, 0.4], [0.1, 0.2, 0.3, -0.4]])
def test_rolled_cotangents_in_bfloat16_are_found(x: list[float], shift: int) -> None:
    found = measure_gradient(
        lambda x: _Exp.apply(x, shift), torch.tensor(x, dtype=torch.float64), modes="rev"
    )
    assert found.verdict is (Verdict.DISAGREE if shift else Verdict.AGREE)


@pytest.mark.parametrize("factor", [1.0, 2.0, -1.0])
@pytest.mark.parametrize("seed", [103, 110])
def test_a_product_of_bfloat16_in_float32(seed: int, factor: float) -> None:
    """Some of its entries move no value where they move by a hundredth."""
    rng, cast = np.random.default_rng(seed), torch.Tensor.bfloat16
    x, w = (torch.tensor(rng.standard_normal(n).astype("float32")) for n in ((3, 4), (4, 2)))

    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            return (cast(x) @ cast(w)).float().sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            ones = torch.ones(3, 2, dtype=torch.bfloat16)
            return factor * g * (ones @ cast(w).T).float(), factor * g * (cast(x).T @ ones).float()

    assert measure_gradient(Product.apply, x, w, modes="rev").wrong is (factor != 1.0)


@pytest.mark.parametrize("factor", [1.0, 2.0, -1.0])
def test_what_float64_leaves_open_is_not_right_there(factor: float) -> None:
    """In float64 differences tell nothing but the zeros of what is not used."""
    jax = pytest.importorskip("jax")

    def normalized(x: Any, unused: Any) -> Any:
        h = x.astype("bfloat16")
        h = (h - h.mean()) / jax.numpy.sqrt(h.var() + jax.numpy.bfloat16(1e-3))
        return jax.numpy.sum(h.astype("float32") * x)

    def back(given: Any, g: Any) -> Any:
        return tuple(factor * slope for slope in jax.vjp(normalized, *given)[1](g))

    ruled = jax.custom_vjp(normalized)
    ruled.defvjp(lambda *xs: (normalized(*xs), xs), back)
    x = np.random.default_rng(1001).standard_normal(4).astype("float32")
    measured = measure_gradient(lambda *xs: ruled(*xs), x, np.ones(8, "float32"))
    assert measured.verdict is (Verdict.AGREE if factor == 1.0 else Verdict.DISAGREE)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_few_weights_cannot_be_taken_for_each_other(precision: Precision, count: int) -> None:
    for seed in range(200):
        weights = signed(np.random.default_rng(seed), (count,), precision)
        apart = [abs(a - b) / abs(a) for i, a in enumerate(weights) for j, b in enumerate(weights) if i != j]
        assert min(apart) >= 0.25


@pytest.mark.parametrize(
    ("got", "clear"), [(-1.0, True), (2.1, True), (1.5, False), (0.0, True), (0.1, False)]
)
def test_no_right_digit_is_clear_in_half_precision(got: float, *, clear: bool) -> None:
    truth, answer, allowed = ({"x": np.array([x])} for x in (1.0, got, 0.25))
    half, double = (compare(truth, answer, allowed, p) for p in ("bfloat16", "float64"))
    assert half is not None
    assert double is not None
    assert half.clear is clear
    assert not double.clear


def test_where_rounding_leaves_no_digit_a_wrong_sign_is_not_clear() -> None:
    comparison = compare({"x": np.array([1.0])}, {"x": np.array([-1.0])}, {"x": np.array([0.4])}, "float16")
    assert comparison is not None
    assert comparison.kind is Class.SIGN_FLIP
    assert not comparison.clear

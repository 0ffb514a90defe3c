"""Large arrays: what a check costs, that a mistake is named, and what is said where it would cost too much.

Gradients are those of sums of tanh, which NumPy computes; the mistakes are planted.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.tolerance import perturbed
from gradfuzz.fuzzer.tolerance.lanes import LANES
from gradfuzz.fuzzer.tolerance.perturbed import PerturbedNamespace
from gradfuzz.testing import GradientMismatch, check_gradient, measure_gradient

Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(3)


def lanes(x: Array) -> Array:
    return np.repeat(x[..., np.newaxis], LANES, axis=-1)


def layer(x: Array) -> Any:
    """A function of a matrix of many entries."""
    return lambda w: np.sum(np.tanh(x @ w))


def slopes(x: Array, w: Array) -> Array:
    return np.asarray(x.T @ (1.0 - np.tanh(x @ w) ** 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_gradient_of_a_hundred_thousand_passes_and_a_wrong_entry_is_named(dtype: str) -> None:
    x, w = RNG.normal(size=(4, 400)).astype(dtype) / 20, RNG.normal(size=(400, 250)).astype(dtype)

    def wrong(w: Array) -> Array:
        found = slopes(x, w)
        found[17, 101] *= 1.5
        return found

    check_gradient(layer(x), w, grad=lambda w: slopes(x, w), strict=True)
    with pytest.raises(GradientMismatch, match=r"by w\[17, 101\]"):
        check_gradient(layer(x), w, grad=wrong)


def test_a_product_loses_as_a_whole_what_its_products_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = RNG.normal(size=(40, 30)), RNG.normal(size=(30, 50))
    namespace = PerturbedNamespace("float64")

    def noise() -> Array:
        found = namespace.matmul(lanes(a), lanes(b))
        np.testing.assert_allclose(found[..., 0], a @ b, rtol=1e-12)
        return np.asarray(np.abs(found - found[..., :1]).max(axis=-1))

    whole = noise()
    monkeypatch.setattr(perturbed, "MANY", 10**9)
    ratio = whole / noise()
    assert np.median(ratio) == pytest.approx(1.0, rel=0.1)
    assert np.all((ratio > 0.4) & (ratio < 2.5))


def test_what_a_product_is_granted_holds_in_any_order() -> None:
    """n u |A| |B| bounds every order of the additions (Higham 2002, section 3.1); 8 times the noise is what
    is granted.
    """
    a, b = np.abs(RNG.normal(size=(40, 60))), np.abs(RNG.normal(size=(60, 50)))
    namespace = PerturbedNamespace("float64")
    found = namespace.matmul(lanes(a), lanes(b))
    granted = 8.0 * namespace.scale * np.abs(found - found[..., :1]).max(axis=-1)
    most = 60 * 2.0**-53 * (a @ b)
    assert np.all(granted >= most)
    assert np.all(granted <= 6.0 * most)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB there")
def test_a_product_of_matrices_takes_little_memory() -> None:
    a = RNG.normal(size=(200, 200)) / 30

    def gradient(a: Array) -> Array:
        inner = 1.0 - np.tanh(a @ a) ** 2
        return np.asarray(inner @ a.T + a.T @ inner)

    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    check_gradient(lambda a: np.sum(np.tanh(a @ a)), a, grad=gradient, strict=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 2**10
    assert time.process_time() - begun < 10.0


def test_the_limit_of_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADFUZZ_MEMORY", "0.0001")
    x, w = RNG.normal(size=(4, 40)), RNG.normal(size=(40, 50))
    with pytest.raises(UsageError, match=r"takes about .* GiB, more than 0.0001 GiB.*GRADFUZZ_MEMORY="):
        check_gradient(layer(x), w, grad=lambda w: slopes(x, w))
    monkeypatch.setenv("GRADFUZZ_MEMORY", "much")
    with pytest.raises(UsageError, match="no number of GiB"):
        check_gradient(layer(x), w, grad=lambda w: slopes(x, w))


@pytest.mark.parametrize("factor", [pytest.param(1.0, marks=pytest.mark.slow), 2.0])
def test_an_entry_is_not_lost_among_many_where_rounding_decides(factor: float) -> None:
    """In float32 rounding may decide some of 4,800 relus. A sum along a direction would hide one of 75,000
    entries that is twice too large; in float64 it is seen.
    """
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(16, 250)), (rng.normal(size=(250, 300)) / 20.0).astype(np.float32)

    def f(w: Any) -> Any:
        return torch.relu(torch.tensor(x, dtype=w.dtype) @ w).logsumexp(1).sum()

    class Off(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: Any) -> Any:
            ctx.save_for_backward(w)
            return f(w)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            w = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                (slope,) = torch.autograd.grad(f(w), w)
            slope[17, 43] *= factor
            return g * slope

    found = measure_gradient(Off.apply, torch.tensor(w), modes="rev")
    if factor == 1.0:
        assert found.verdict is Verdict.INCONCLUSIVE
        assert "less than rounding may" in found.reason
    else:
        assert (found.verdict, found.worst[1] if found.worst else None) == (Verdict.DISAGREE, (17, 43))

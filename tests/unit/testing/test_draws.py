"""Draws from distributions whose parameters are differentiated: their quantiles stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import measure_gradient
from gradfuzz.tracing.common import quantiles

STEP = 1e-6


def _slope(distribution: Callable[..., Any], draw: float, shape: float, *rest: float) -> float:
    """-(dF/da) / (dF/dx), by mpmath."""
    with mpmath.workdps(30):
        by = mpmath.diff(lambda a: distribution(a, *rest, draw), shape)
        return float(-by / mpmath.diff(lambda x: distribution(shape, *rest, x), draw))


def _gamma(shape: Any, x: Any) -> Any:
    return mpmath.gammainc(shape, 0, x, regularized=True)


def _beta(a: Any, b: Any, x: Any) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


@pytest.mark.parametrize(("draw", "shape"), [(0.7, 1.3), (4.1, 2.0), (1e-3, 0.4), (30.0, 25.0), (9.0, 2.5)])
def test_the_slope_of_a_gamma_draw(draw: float, shape: float) -> None:
    ends = (quantiles.of_gamma(*map(np.array, (draw, shape, shape + d))) for d in (STEP, -STEP))
    upper, lower = map(float, ends)
    assert (upper - lower) / (2.0 * STEP) == pytest.approx(_slope(_gamma, draw, shape), rel=1e-6)


def test_the_slopes_of_a_dirichlet_draw() -> None:
    """dx_i / da_i is that of a beta distribution whose second parameter stays; the rest shrinks alike."""
    draws, weights = np.array([0.2, 0.5, 0.3]), np.array([1.7, 0.6, 2.2])
    for i in range(3):
        moves = [weights + side * STEP * np.eye(3)[i] for side in (1, -1)]
        upper, lower = (quantiles.of_dirichlet(draws, weights, moved) for moved in moves)
        own = _slope(_beta, draws[i], weights[i], weights.sum() - weights[i])
        expected = np.where(np.eye(3)[i], own, -own * draws / (1.0 - draws[i]))
        np.testing.assert_allclose((upper - lower) / (2.0 * STEP), expected, rtol=1e-6)


def _of_jax(share: float) -> Any:
    import jax

    times = jax.custom_vjp(lambda x: x)
    times.defvjp(lambda x: (x, None), lambda _, g: (share * g,))
    return times


@pytest.mark.parametrize("name", ["gamma", "loggamma", "dirichlet", "t"])
@pytest.mark.parametrize("share", [1.0, 1.002, -1.0])
def test_draws_of_jax(name: str, share: float) -> None:
    jax = pytest.importorskip("jax")
    times, draw = _of_jax(share), getattr(jax.random, name)
    with jax.enable_x64(True):
        key, x = jax.random.key(3), jax.numpy.asarray([1.7, 0.6, 2.2])
        found = measure_gradient(lambda a: draw(key, times(a)), x, modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason


def _draws_of_torch() -> dict[str, Callable[[Any], Any]]:
    import torch

    of = torch.distributions
    return {
        "gamma": lambda a: of.Gamma(a, a).rsample(),
        "beta": lambda a: of.Beta(a, a + 1.0).rsample(),
        "dirichlet": lambda a: of.Dirichlet(a).rsample(),
        "others beside": lambda a: (
            of.StudentT(a).rsample() * torch.randn(3, dtype=a.dtype) + torch.zeros_like(a).uniform_()
        ),
    }


@pytest.mark.parametrize("name", ["gamma", "beta", "dirichlet", "others beside"])
@pytest.mark.parametrize("share", [1.0, 1.1, 0.5, -1.0])
def test_draws_of_torch(name: str, share: float) -> None:
    """Torch knows their slopes to a few thousandths."""
    torch = pytest.importorskip("torch")

    class Times(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return share * g

    draw, x = _draws_of_torch()[name], torch.tensor([1.7, 0.6, 2.2], dtype=torch.float64)
    found = measure_gradient(lambda a: draw(Times.apply(a)), x, modes="rev")
    assert found.verdict is (Verdict.AGREE if share == 1.0 else Verdict.DISAGREE), found.reason

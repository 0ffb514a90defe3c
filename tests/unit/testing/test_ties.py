"""Wrong gradients at ties: several zeros under a relu, equal entries of a maximum, a branch at its threshold.
The gradient of the planted functions is the right one, changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.measuring.measured import InconclusiveWarning
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.testing import GradientMismatch, check_gradient, measure_gradient

X = np.array([0.0, 0.0, 1.0, -2.0, 3.0])

CHANGES: dict[str, Callable[[Any], Any]] = {
    "sign": lambda g: -g,
    "a thousandth": lambda g: 1.001 * g,
    "one entry": lambda g: np.where(np.arange(len(g)) == 4, 1.01 * g, g),
    "NaN elsewhere": lambda g: np.where(np.arange(len(g)) == 2, np.nan, g),
    "rolled": lambda g: np.roll(g, 1),
}


def _jax_functions() -> dict[str, Callable[[Any], Any]]:
    jax = pytest.importorskip("jax")
    jnp, weights = jax.numpy, np.arange(1.0, 6.0)
    return {
        "relu": lambda x: jax.nn.relu(x) * weights,
        "abs": lambda x: jnp.abs(x) * weights + x,
        "where": lambda x: jnp.where(x > 0, x * x + x, -x) * weights,
        "hardtanh": lambda x: jax.nn.hard_tanh(3.0 * x - 1.0) * weights + x,
        "sort": lambda x: jnp.sort(x) * weights,
        "a power": lambda x: jnp.maximum(x, 0.0) ** 2 + jnp.maximum(x, 0.0) + x,
    }


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["relu", "abs", "where", "hardtanh", "sort", "a power"])
def test_several_ties_in_jax(name: str, change: str) -> None:
    jax = pytest.importorskip("jax")
    f = _jax_functions()[name]

    @jax.custom_vjp
    def planted(x: Any) -> Any:
        return f(x)

    def forward(x: Any) -> Any:
        return jax.vjp(f, x)

    def backward(pull: Any, cotangent: Any) -> Any:
        (g,) = pull(cotangent)
        shape = jax.ShapeDtypeStruct(g.shape, g.dtype)
        return (jax.pure_callback(lambda v: np.asarray(CHANGES[change](np.asarray(v)), v.dtype), shape, g),)

    planted.defvjp(forward, backward)
    check_gradient(f, X, framework="jax", modes="rev")
    with pytest.raises(GradientMismatch):
        check_gradient(planted, X, framework="jax", modes="rev")


def test_ties_of_mixed_signs_are_right() -> None:
    """A relu may give both of two ties to 0, though that is no slope along any line."""
    jax = pytest.importorskip("jax")
    weights = np.array([1.0, -1.0, 0.5, 2.0, 1.5], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gradient(lambda x: jax.nn.relu(x) * weights, X.astype(np.float32), framework="jax")


@pytest.mark.parametrize("change", CHANGES)
def test_the_entries_beside_a_kink_of_a_function_that_is_not_traced(change: str) -> None:
    torch = pytest.importorskip("torch")

    def f(x: Any) -> Any:
        assert float(x.detach().numpy().sum()) < 100.0  # NumPy leaves what is traced
        return torch.relu(x) * torch.arange(1.0, 6.0, dtype=x.dtype)

    class Planted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return f(x)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                moved = x.detach().requires_grad_()
                (g,) = torch.autograd.grad(f(moved), moved, cotangent)
            return torch.from_numpy(np.asarray(CHANGES[change](g.numpy()), g.numpy().dtype))

    x = torch.from_numpy(X)
    check_gradient(f, x, modes="rev")
    with pytest.raises(GradientMismatch):
        check_gradient(lambda x: Planted.apply(x), x, framework="torch", modes="rev")


@pytest.mark.parametrize(
    ("place", "factor"), [(slice(None), 1.001), (11, 1.01), (slice(None), -1.0), (7, 30.0)], ids=str
)
def test_many_entries_of_which_some_are_at_ties(place: Any, factor: float) -> None:
    jax = pytest.importorskip("jax")
    x = np.linspace(-1.0, 1.0, 600)
    x[[7, 50, 120]] = 0.0

    def f(x: Any) -> Any:
        return jax.numpy.sum(jax.numpy.abs(x) + 3.0 * x * x + x)

    @jax.custom_jvp
    def planted(x: Any) -> Any:
        return f(x)

    @planted.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        value, slope = jax.jvp(f, (x,), (t.at[place].multiply(factor),))
        return value, slope

    check_gradient(f, x, framework="jax", modes="rev")
    with pytest.raises(GradientMismatch):
        check_gradient(planted, x, framework="jax", modes="rev")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_branch_at_its_threshold(sign: float) -> None:
    """sinc is smooth at 0, where it takes another branch: its slope there is 0, and -1 at 1."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def f(x: Any) -> Any:
        y = jnp.where(x == 0.0, 1.0, jnp.pi * x)
        return jnp.where(x == 0.0, 1.0, jnp.sin(y) / y)

    @jax.custom_vjp
    def planted(x: Any) -> Any:
        return f(x)

    planted.defvjp(lambda x: jax.vjp(f, x), lambda pull, ct: (sign * pull(ct)[0],))
    x = np.array([0.0, 1.0, 0.25])
    if sign > 0.0:
        check_gradient(planted, x, framework="jax", modes="rev")
        return
    with pytest.raises(GradientMismatch):
        check_gradient(planted, x, framework="jax", modes="rev")


@pytest.mark.parametrize("factor", [1.001, -1.0])
def test_entries_beside_one_for_which_the_function_is_not_defined(factor: float) -> None:
    jax = pytest.importorskip("jax")

    @jax.custom_jvp
    def planted(x: Any) -> Any:
        return jax.numpy.log(x) * 3.0

    @planted.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return planted(x), t.at[2].multiply(factor) * 3.0 / x

    with pytest.raises(
        GradientMismatch, match="this entry has a derivative, though others have none: log of 0"
    ):
        check_gradient(planted, np.array([0.0, 0.5, 4.0]), framework="jax", modes="rev")


def test_a_pole_of_one_entry_may_make_another_no_number_in_forward_mode() -> None:
    """The other tangent is 0 at the pole, times infinity."""
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, -2.0], dtype=torch.float64)
    with pytest.warns(InconclusiveWarning):
        check_gradient(lambda x: torch.special.polygamma(1, x), x, modes="fwd")


@pytest.mark.parametrize(("entry", "factor"), [(None, 1.0), ((3, 20), 1.01), ((0, 30), -1.0)], ids=str)
def test_a_layer_with_many_ties_is_right_in_part(entry: tuple[int, int] | None, factor: float) -> None:
    """Twelve inputs lie on the kink of relu, and are named; a mistake in a weight is found beside them."""
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(1)
    weights, y = rng.standard_normal((12, 50)) * 0.2, rng.standard_normal(50)
    y[:12] = 0.0
    y[[20, 30]] = 1.5, 0.5

    def layer(weights: Any, y: Any) -> Any:
        return jax.numpy.tanh(weights @ jax.nn.relu(y))

    @jax.custom_jvp
    def planted(weights: Any, y: Any) -> Any:
        return layer(weights, y)

    @planted.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        w, t = tangents
        return jax.jvp(layer, primals, (w if entry is None else w.at[entry].multiply(factor), t))

    found = measure_gradient(planted, weights, y, framework="jax", modes="rev")
    if entry is None:
        assert found.verdict is Verdict.AGREE
        assert {name: int(np.sum(mask)) for name, mask in found.unjudged.items()} == {"weights": 0, "y": 12}
        assert np.all(found.unjudged["y"][:12])
    else:
        assert (found.verdict, found.worst) == (Verdict.DISAGREE, ("weights", entry))

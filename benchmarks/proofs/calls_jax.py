"""Calls for primitives of JAX that no drawn call reaches, or reaches where they have a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax import lax as _lax
from jax._src.lax import windowed_reductions
from jax.ad_checkpoint import checkpoint_name
from jax.custom_derivatives import linear_call
from jax.experimental.layout import Layout, with_layout_constraint
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from benchmarks.proofs import calls_jax_devices, calls_jax_effects
from benchmarks.proofs.written import Written, apart, between, call


def _windows(primitive: Any, init: float, reduction: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A reduction over windows that overlap, of an array with a border."""

    def reduced(x: Any) -> Any:
        window, strides, padding = (2, 3), (1, 2), ((0, 1), (1, 1))
        if reduction is not None:
            return lax.reduce_window(x, np.float64(init), reduction, window, strides, padding)
        none = (1, 1)
        return primitive.bind(
            x,
            window_dimensions=window,
            window_strides=strides,
            padding=padding,
            base_dilation=none,
            window_dilation=none,
        )

    return reduced


def _extreme_window(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "VALID")


def _least_window(x: Any) -> Any:
    return lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 2), "VALID")


def _gathered(which: Any) -> Callable[..., Any]:
    def gathered(tangents: Any, x: Any) -> Any:
        none = (1, 1)
        return windowed_reductions._select_and_gather_add(  # noqa: SLF001 - JAX has no public name for it
            tangents, x, which, (2, 2), (1, 2), ((0, 0), (0, 0)), none, none
        )

    return gathered


def _scattered(which: Any) -> Callable[..., Any]:
    def scattered(source: Any, x: Any) -> Any:
        return windowed_reductions._select_and_scatter_add(  # noqa: SLF001 - JAX has no public name for it
            source, x, which, (2, 2), (1, 2), ((0, 0), (0, 0))
        )

    return scattered


@jax.custom_batching.custom_vmap
def _batched_by_hand(x: Any) -> Any:
    return jnp.sin(x) * x


@_batched_by_hand.def_vmap
def _its_batches(axis_size: int, in_batched: Any, x: Any) -> Any:
    return jnp.sin(x) * x, True


def _hand_written(optimize: bool) -> Callable[..., Any]:
    """A function whose rule somebody wrote."""

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x) * x

    def forward(x: Any) -> Any:
        return jnp.sin(x) * x, x

    def back(x: Any, along: Any) -> Any:
        return ((jnp.cos(x) * x + jnp.sin(x)) * along,)

    f.defvjp(forward, back, optimize_remat=optimize)
    return f


def _scaled(x: Any) -> Any:
    """A linear function of x with its own transpose."""

    def times(residuals: Any, y: Any) -> Any:
        return residuals * y

    return linear_call(times, times, jnp.array([1.5, -0.5, 2.0]), x * x)


def _placed(x: Any) -> Any:
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    return lax.with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec())) * x


def _placed_anew(x: Any) -> Any:
    kinds = (jax.sharding.AxisType.Explicit,)
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",), axis_types=kinds)
    return jax.sharding.reshard(x, NamedSharding(mesh, PartitionSpec())) * x


def _parabola(x: Any) -> Any:
    return jnp.sin(x) * x


def _ragged(x: Any, y: Any) -> Any:
    return lax.ragged_dot(x, y, jnp.array([2, 1, 1], jnp.int32))


def _positive_definite(x: Any) -> Any:
    """A matrix that is symmetric and positive definite."""
    return x @ x.T + 4.0 * jnp.eye(x.shape[0])


def _at_rows(name: str) -> Callable[..., Any]:
    rows = np.array([2, 0])
    return lambda x, y: getattr(x.at[rows], name)(y)


_SPREAD = np.diag([-8.0, 0.0, 8.0])


def _halved(x: Any) -> Any:
    """Divided by 2 until the sum is small."""
    return lax.while_loop(lambda y: y.sum() > 1.0, lambda y: y * 0.5, x * x)


begin = calls_jax_devices.begin

CALLS: tuple[Written, ...] = (
    call("acosh", lax.acosh, between(2.0, 4.0, 3)),
    call("asin", lax.asin, between(-0.7, 0.7, 3)),
    call("atanh", lax.atanh, between(-0.7, 0.7, 3)),
    call("erf_inv", lax.erf_inv, between(-0.7, 0.7, 3)),
    call("cholesky", lambda x: lax.linalg.cholesky(_positive_definite(x)), (3, 3)),
    call("igamma", lax.igamma, between(0.8, 3.0, 2), between(0.8, 3.0, 2)),
    call("igammac", lax.igammac, between(0.8, 3.0, 2), between(0.8, 3.0, 2)),
    call(
        "regularized_incomplete_beta",
        lambda x: lax.betainc(jnp.array([1.5, 0.5]), jnp.array([0.75, 2.0]), x),
        between(0.2, 0.7, 2),
    ),
    call(
        "tridiagonal_solve",
        lambda *xs: lax.linalg.tridiagonal_solve(*xs),
        (4,),
        between(5.0, 9.0, 4),
        (4,),
        (4, 2),
    ),
    call("ragged_dot", _ragged, (4, 3), (3, 3, 2)),
    call("scatter_max", _at_rows("max"), apart(3, 2), (2, 2)),
    call("scatter_min", _at_rows("min"), apart(3, 2), (2, 2)),
    call("reduce_window_max", _extreme_window, apart(3, 4)),
    call("reduce_window_min", _least_window, apart(3, 4)),
    call("reduce_window_sum", _windows(lax.reduce_window_sum_p, 0.0), (3, 4)),
    call("reduce_window", _windows(None, 1.0, lambda x, y: x * y), (3, 4)),
    call("reduce", lambda x: lax.reduce(x, np.float64(0.0), lambda a, b: a + b + a * b, (1,)), (2, 3)),
    call("select_and_gather_add of the greatest", _gathered(lax.ge_p), (3, 4), apart(3, 4)),
    call("select_and_gather_add of the least", _gathered(lax.le_p), (3, 4), apart(3, 4)),
    call("select_and_scatter_add of the greatest", _scattered(lax.ge_p), (2, 2), apart(3, 4)),
    call("select_and_scatter_add of the least", _scattered(lax.le_p), (2, 2), apart(3, 4)),
    call("reduce_precision", lambda x: lax.reduce_precision(x * x, 11, 52), (3,)),
    call("device_put", lambda x: jax.device_put(x * x), (3,)),
    call("optimization_barrier", lambda x: lax.optimization_barrier(jnp.sin(x)) * x, (3,)),
    call("name", lambda x: checkpoint_name(jnp.sin(x), "sine") * x, (3,)),
    call("remat2", jax.checkpoint(_parabola), (3,)),
    call("add_any", jax.vmap(jax.grad(_parabola)), (3,)),
    call("remat_opt", jax.vmap(jax.grad(_hand_written(True))), (3,)),
    call("custom_lin", _hand_written(False), (3,)),
    call("custom_vmap_call", _batched_by_hand, (3,)),
    call("linear_call", _scaled, (3,)),
    call("composite", lax.composite(_parabola, "gradfuzz.parabola"), (3,)),
    call("sharding_constraint", _placed, (3,)),
    call("reshard", _placed_anew, (3,)),
    call("layout_constraint", lambda x: with_layout_constraint(x, Layout((0, 1))) * x, (2, 2)),
    call("stage", lambda x: _lax.stage(x) * x, (3,)),
    call("tie", lambda x, y: _lax.tie_p.bind(x, y) * x, (3,), (3,)),
    call("eq_to", lambda x, y: jnp.where(_lax.eq_to_p.bind(x, y), x, x * y), (3,), (3,)),
    call("le_to", lambda x, y: jnp.where(_lax.le_to_p.bind(x, y), x * x, x * y), (3,), (3,)),
    call("ge", lambda x, y: jnp.where(lax.ge(x, y), x, x * y), (3,), (3,)),
    call("is_finite", lambda x: jnp.where(lax.is_finite(x), x * x, x), (3,)),
    call("argmax", lambda x: jnp.where(jnp.arange(4) == jnp.argmax(x), x * x, x), apart(4)),
    call("argmin", lambda x: jnp.where(jnp.arange(4) == jnp.argmin(x), x * x, x), apart(4)),
    call("stack", lambda x, y: lax.stack([x * y, y], axis=1), (3,), (3,)),
    call("polygamma", lambda x: lax.polygamma(jnp.array([1.0, 2.0]), x), between(0.8, 3.0, 2)),
    call("scatter_mul", lambda x, y: x.at[np.array([2, 0])].multiply(y, unique_indices=True), (3, 2), (2, 2)),
    call("eigvals", lambda x: jnp.linalg.eigvals(x + _SPREAD), (3, 3)),
    call("cond", lambda x: lax.cond(x.sum() > 0.0, jnp.sin, lambda y: y * y, x), (3,)),
    call("while", _halved, between(0.5, 4.0, 3)),
    *calls_jax_devices.CALLS,
    *calls_jax_effects.CALLS,
)

"""Calls for the collectives of JAX: what devices tell each other.

They run on two devices, into which `begin` has JAX divide the CPU. A function maps its body over them with
`shard_map`, each with half of the rows of an argument that is `ROWS`, and the whole of one that is `WHOLE`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.lax import parallel
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from benchmarks.proofs.written import Written, call

WHOLE, ROWS = PartitionSpec(), PartitionSpec("i")


def begin() -> None:
    """Before JAX does anything; afterwards it raises `RuntimeError`."""
    jax.config.update("jax_num_cpu_devices", 2)


def _mapped(
    body: Callable[..., Any], takes: tuple[Any, ...] = (ROWS,), gives: Any = ROWS, *, typed: bool = True
) -> Callable[..., Any]:
    """A function of whole arrays. If it is `typed`, JAX knows which arrays differ from device to device."""

    def f(*xs: Any) -> Any:
        mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Explicit,))
        placed = [jax.reshard(x, NamedSharding(mesh, spec)) for x, spec in zip(xs, takes, strict=True)]
        run = jax.shard_map(body, mesh=mesh, in_specs=takes, out_specs=gives, check_vma=typed)
        return jax.reshard(run(*placed), NamedSharding(mesh, WHOLE))

    return f


def _reduced(x: Any) -> Any:
    return lax.pcast(x, "i", to="reduced")


def _varying(x: Any) -> Any:
    return lax.pcast(x, "i", to="varying")


def _unreduced(x: Any) -> Any:
    return lax.pcast(x, "i", to="unreduced")


def _scattered(x: Any) -> Any:
    return parallel.unreduced_psum_scatter(_unreduced(jnp.sin(x)), "i", tiled=True) * x[:1]


CALLS: tuple[Written, ...] = (
    call("psum", _mapped(lambda x: lax.psum(jnp.sin(x), "i") * x, typed=False), (4,)),
    call("psum_invariant", _mapped(lambda x: lax.psum(jnp.sin(x), "i"), gives=WHOLE), (4,)),
    call("pvary", _mapped(lambda x, y: jnp.sin(x) * y, (ROWS, WHOLE)), (4,), (2,)),
    call("all_gather", _mapped(lambda x: lax.all_gather(jnp.sin(x), "i") * x), (4,)),
    call("all_gather of blocks", _mapped(lambda x: lax.all_gather(jnp.sin(x), "i", tiled=True)), (4,)),
    call(
        "all_gather_invariant",
        _mapped(lambda x: parallel.all_gather_invariant(jnp.sin(x), "i", tiled=True), gives=WHOLE),
        (4,),
    ),
    call(
        "all_gather_reduced",
        _mapped(lambda x: _varying(parallel.all_gather_reduced(jnp.sin(x), "i", tiled=True)) * x[:1]),
        (4,),
    ),
    call(
        "preduced",
        _mapped(lambda x, y: x * _varying(jnp.sin(_reduced(y * y))), (ROWS, WHOLE)),
        (4,),
        (2,),
    ),
    call(
        "unreduced_psum",
        _mapped(lambda x: parallel.unreduced_psum(_unreduced(jnp.sin(x)), "i"), gives=WHOLE),
        (4,),
    ),
    call("unreduced_reduce_scatter", _mapped(_scattered), (4,)),
    call("reduce_scatter", _mapped(lambda x: lax.psum_scatter(jnp.sin(x), "i", tiled=True) * x[:1]), (4,)),
    call("reduce_scatter of rows", _mapped(lambda x: lax.psum_scatter(jnp.sin(x), "i")[None] * x), (4,)),
    call("all_to_all", _mapped(lambda x: lax.all_to_all(jnp.sin(x), "i", 1, 0, tiled=True)), (4, 2)),
    call("ppermute", _mapped(lambda x: lax.ppermute(jnp.sin(x), "i", [(0, 1)]) * x), (4,)),
)

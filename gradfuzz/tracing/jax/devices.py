"""JAX's functions of several devices: what each device computes, and what they tell each other.

The body of a `shard_map` is walked for all devices together, equation by equation. A collective takes what
all of them have; any other equation is walked for each device alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.jax.cell import JaxprCell, cell_of
from gradfuzz.tracing.jax.indexing import part
from gradfuzz.tracing.jax.walker import Devices, Place, Walker, all_equations

Group = Sequence[Any]
"""What the devices of a group have of one array, in their order on the axes of a collective."""


def mapped(walker: Walker, equation: Any, cells: Sequence[JaxprCell]) -> list[JaxprCell]:
    """What a `shard_map` gives: the blocks of all devices, put together."""
    p = equation.params
    devices = Devices({str(name): int(n) for name, n in p["mesh"].shape.items()})
    if walker.devices is not None or set(p["newly_manual_axes"]) != set(devices.axes):
        raise UntraceableError("JAX's shard_map of some axes of a mesh, or inside of another one")
    specs = [_axes_of(s, v.aval.ndim) for s, v in zip(p["in_specs"], equation.invars, strict=True)]
    lanes = [
        [_block(devices, place, spec, cell) for spec, cell in zip(specs, cells, strict=True)]
        for place in devices.places
    ]
    walker.devices = devices
    try:
        results = walker.run_lanes(p["jaxpr"], lanes)
    finally:
        walker.devices = None
    found = []
    for k, variable in enumerate(equation.outvars):
        spec = _axes_of(p["out_specs"][k], variable.aval.ndim)
        found.append(cell_of(_whole(devices, [lane[k].operand for lane in results], spec, {})))
    return found


def _axes_of(spec: Any, rank: int) -> list[tuple[str, ...]]:
    """The axes of the mesh by which each axis of an array is divided."""
    if getattr(spec, "unreduced", None):
        raise UntraceableError("JAX's shard_map with a result that is not summed over the devices")
    own = [() if s is None else tuple(s) if isinstance(s, tuple) else (s,) for s in spec.partitions]
    return [*own, *[()] * (rank - len(own))]


def _block(devices: Devices, place: Place, spec: Sequence[tuple[str, ...]], cell: JaxprCell) -> JaxprCell:
    """What a device has of an array."""
    if not any(spec):
        return cell
    x = cell.operand
    for axis, names in enumerate(spec):
        if names:
            x = _chunk(x, axis, devices.rank(place, names), devices.size(names))
    return cell_of(x)


def _whole(devices: Devices, blocks: Group, spec: Sequence[tuple[str, ...]], place: Place) -> Any:
    """The array of which the devices have blocks. `place` is where they stand on the axes that are done."""
    if not spec:
        found = {axis: place.get(axis, 0) for axis in devices.axes}
        return blocks[devices.places.index(found)]
    *rest, names = spec
    ranges = [range(devices.axes[name]) for name in names]
    parts = [
        _whole(devices, blocks, rest, {**place, **dict(zip(names, where, strict=True))})
        for where in itertools.product(*ranges)
    ]
    return parts[0] if len(parts) == 1 else engine.concat(parts, axis=len(rest))


def _chunk(x: Operand, axis: int, k: int, count: int) -> Any:
    size = np.shape(x)[axis] // count
    return x if count == 1 else part(x, axis, k * size, (k + 1) * size)


# Collectives ------------------------------------------------------------------------------------------------


def _sum(equation: Any, xs: Group) -> Group:
    total = sum(xs[1:], xs[0])
    return [total] * len(xs)


def _all(equation: Any, xs: Group) -> Group:
    """The blocks of all devices, one after another or along a new axis."""
    axis = int(equation.params["all_gather_dimension"])
    found = engine.concat(xs, axis=axis) if equation.params["tiled"] else engine.stack(xs, axis=axis)
    return [found] * len(xs)


def _scattered(equation: Any, xs: Group) -> Group:
    """A block of the sum for each device."""
    axis = int(equation.params["scatter_dimension"])
    total = sum(xs[1:], xs[0])
    blocks = [_chunk(total, axis, k, len(xs)) for k in range(len(xs))]
    if equation.params["tiled"]:
        return blocks
    shape = np.shape(total)[:axis] + np.shape(total)[axis + 1 :]
    return [engine.reshape(block, shape) for block in blocks]


def _exchanged(equation: Any, xs: Group) -> Group:
    """Device k gets the k-th block of each."""
    of, along = int(equation.params["split_axis"]), int(equation.params["concat_axis"])
    count = len(xs)
    return [engine.concat([_chunk(x, of, k, count) for x in xs], axis=along) for k in range(count)]


def _sent(equation: Any, xs: Group) -> Group:
    """What each device sends to another one; 0 where nobody sends anything."""
    sender = {int(to): int(of) for of, to in equation.params["perm"]}
    return [xs[sender[k]] if k in sender else xs[k] * 0 for k in range(len(xs))]


def _kept(equation: Any, xs: Group) -> Group:
    """What changes the type of an array, and no number of it."""
    return xs


_COLLECTIVES: dict[str, Callable[[Any, Group], Group]] = {
    **dict.fromkeys(("psum", "psum_invariant", "unreduced_psum"), _sum),
    **dict.fromkeys(("all_gather", "all_gather_invariant", "all_gather_reduced"), _all),
    **dict.fromkeys(("reduce_scatter", "unreduced_reduce_scatter"), _scattered),
    **dict.fromkeys(("pvary", "preduced", "reduced_vary_cast", "vary_unreduced_cast"), _kept),
    **dict.fromkeys(("reduced_vary_cast_p", "vary_unreduced_cast_p"), _kept),  # as JAX 0.10 calls them
    "all_to_all": _exchanged,
    "ppermute": _sent,
}
"""Primitives of one array by name."""


def told(
    devices: Devices, equation: Any, cells: Sequence[Sequence[JaxprCell]]
) -> list[list[JaxprCell]] | None:
    """The results of a collective for each device; None where the equation is none."""
    name, p = equation.primitive.name, equation.params
    if (name in _COLLECTIVES or name == "axis_index") and len(cells) != len(devices.places):
        raise UntraceableError(f"JAX's {name} in a branch, or in a loop that may end at any trip")
    if name == "axis_index":
        axes = _names(p["axis_name"])
        return [[cell_of(np.int32(devices.rank(place, axes)))] for place in devices.places]
    if name not in _COLLECTIVES:
        return None
    axes = _names(p["axes"] if "axes" in p else p["axis_name"])
    if p.get("axis_index_groups") is not None or not all(axis in devices.axes for axis in axes):
        raise UntraceableError(f"JAX's {name} in groups, or along an axis of no mesh")
    found: list[list[JaxprCell]] = [[] for _ in cells]
    for group in devices.groups(axes):
        xs = [cells[k][0].operand for k in group]
        for k, x in zip(group, _COLLECTIVES[name](equation, xs), strict=True):
            found[k] = [cell_of(x)]
    return found


def _names(axes: Any) -> tuple[str, ...]:
    return tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)


def tells(jaxpr: Any) -> bool:
    """Whether a device says something to another one, or asks where it is."""
    return any(e.primitive.name in (*_COLLECTIVES, "axis_index") for e in all_equations(jaxpr))

"""Batching rules of gathering, scattering, windows and convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.batching.lanes import Lanes, Params, axis_of, checked, one_by_one
from gradfuzz.engine.rules.functions import permute_dims, reshape
from gradfuzz.engine.rules.value import Operand, apply, shape_of


def window_sum(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """The window has size 1 along the batch axes."""
    ones = (1,) * lanes.rank
    wider: dict[str, Any] = {"window": (*ones, *params["window"])}  # type: ignore[misc]
    if params["strides"] is not None:
        wider["strides"] = (*ones, *params["strides"])  # type: ignore[misc]
    if params["padding"] is not None:
        wider["padding"] = (*[(0, 0)] * lanes.rank, *params["padding"])  # type: ignore[misc]
    return apply("window_sum", args[0], **wider)


def conv(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """Batched arrays extend conv's own batch, batched kernels its output channels; both go one by one."""
    x, kernel = args
    if all(batched):
        return one_by_one("conv")(lanes, args, batched, params)
    if batched[0]:
        n = lanes.instance(x, True)[0]
        result = apply("conv", reshape(x, (lanes.count * n, *lanes.instance(x, True)[1:])), kernel, **params)
        return reshape(result, (*lanes.shape, n, *shape_of(result)[1:]))
    outputs, *rest = lanes.instance(kernel, True)
    result = apply("conv", x, reshape(kernel, (lanes.count * outputs, *rest)), **params)
    n, _, *spatial = shape_of(result)
    split = reshape(result, (n, *lanes.shape, outputs, *spatial))
    return permute_dims(split, (*range(1, 1 + lanes.rank), 0, *range(1 + lanes.rank, len(shape_of(split)))))


def take(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    x, indices = args
    rank = len(lanes.instance(x, batched[0]))
    axis = axis_of(params, rank)
    if not batched[1]:
        return apply("take", x, indices, axis=axis + lanes.rank)
    own = lanes.instance(indices, True)
    count = math.prod(own)
    flat = reshape(indices, (*lanes.shape, *[1] * axis, count, *[1] * (rank - axis - 1)))
    whole = lanes.spread(x, batched[0])
    taken = apply("take_along_axis", whole, flat, axis=axis + lanes.rank)
    shape = lanes.instance(whole, True)
    return reshape(taken, (*lanes.shape, *shape[:axis], *own, *shape[axis + 1 :]))


def take_along_axis(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    rank = len(lanes.instance(args[0], batched[0]))
    aligned = [
        x if b else reshape(x, (*[1] * lanes.rank, *shape_of(x))) for x, b in zip(args, batched, strict=True)
    ]
    return apply("take_along_axis", *aligned, axis=axis_of(params, rank) + lanes.rank)


def scatter_add(lanes: Lanes, args: Sequence[Operand], batched: Sequence[bool], params: Params) -> Any:
    """Indices that differ between instances address all instances flattened into one axis."""
    x, indices, updates = args
    x, updates = lanes.spread(x, batched[0]), lanes.spread(updates, batched[2])
    shape = lanes.instance(x, True)
    axis, rank, k = axis_of(params, len(shape)), len(shape), lanes.rank
    if not batched[1]:
        return apply("scatter_add", x, indices, updates, axis=axis + k)
    n, others = shape[axis], tuple(m for a, m in enumerate(shape) if a != axis)
    own = lanes.instance(indices, True)
    count = math.prod(own)
    order = (*range(k), k + axis, *(k + a for a in range(rank) if a != axis))
    rows = reshape(permute_dims(x, order), (lanes.count * n, *others))
    first = np.arange(lanes.count).reshape(*lanes.shape, *[1] * len(own)) * n
    places = reshape(indices + first, (lanes.count * count,))
    first_own, last_own = k + axis, k + axis + len(own)
    moved = (*range(k), *range(first_own, last_own), *range(k, first_own), *range(last_own, updates.ndim))
    changes = reshape(permute_dims(updates, moved), (lanes.count * count, *others))
    added = apply("scatter_add", rows, places, changes, axis=0)
    back = permute_dims(reshape(added, (*lanes.shape, n, *others)), tuple(int(a) for a in np.argsort(order)))
    return checked(back, [(indices, 0, n)])

"""`vmap` turns a function of one instance into a function of a batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gradfuzz.engine.api.tracing import Function, by_instance
from gradfuzz.engine.api.vectorize import Vectorized, align, vectorize
from gradfuzz.engine.rules.functions import broadcast_to, permute_dims
from gradfuzz.engine.rules.value import Operand, shape_of
from gradfuzz.errors import UsageError

_numbers = itertools.count()


def vmap(
    f: Function, in_axes: int | Sequence[int | None] | None = 0, out_axes: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """The function that maps `f` over an axis of its arguments.

    `in_axes` is the axis of each argument (one int for all; None: the argument is the same for all
    instances), `out_axes` the place of the new axis in each result. `f` is traced once, for one instance;
    each instance has its own trip counts and branches. Derivatives can be taken inside `f` and of the mapped
    function. Raises `UsageError` where sizes differ.
    """

    def function(*args: Operand) -> Any:
        places = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(places) != len(args):
            given = f"in_axes={in_axes!r} of {len(args)} arguments"
            raise UsageError(f"vmap with {given}; give one entry for each")
        sizes = {_size(a, k) for a, k in zip(args, places, strict=True) if k is not None}
        if len(sizes) != 1:
            counts = " and ".join(map(str, sorted(sizes))) or "no"
            raise UsageError(f"vmap over axes of {counts} instances; they must be of one size")
        name, (n,) = f"vmap {next(_numbers)}", sizes
        mapped = [
            a if k is None else vectorize(_moved(a, k % len(shape_of(a)), 0), name)
            for a, k in zip(args, places, strict=True)
        ]
        results = by_instance(f, *mapped)
        single = not isinstance(results, tuple)
        values = (results,) if single else results
        targets = [out_axes] * len(values) if isinstance(out_axes, int) else list(out_axes)
        if len(targets) != len(values):
            given = f"out_axes={out_axes!r} of {len(values)} results"
            raise UsageError(f"vmap with {given}; give one entry for each")
        out = [_unmapped(v, name, n, k) for v, k in zip(values, targets, strict=True)]
        return out[0] if single else tuple(out)

    return function


def _size(x: Operand, axis: int) -> int:
    shape = shape_of(x)
    if not -len(shape) <= axis < len(shape):
        raise UsageError(f"vmap over axis {axis} of an array of shape {shape}; it has no such axis")
    return shape[axis]


def _moved(x: Operand, source: int, target: int) -> Operand:
    """`x` with one axis moved."""
    order = [k for k in range(len(shape_of(x))) if k != source]
    order.insert(target, source)
    return x if order == sorted(order) else permute_dims(x, tuple(order))


def _unmapped(x: Operand, name: str, n: int, axis: int) -> Operand:
    """`x` with its named axis at `axis`; a value without it is the same for all instances, and repeated."""
    if isinstance(x, Vectorized) and name in x.axes:
        others = {k: m for k, m in x.sizes.items() if k != name}
        data = align(x, {**others, name: n})
        whole = Vectorized(data, tuple(others)) if others else data
    else:
        whole = broadcast_to(x, (n, *shape_of(x)))
    return _moved(whole, 0, axis % len(shape_of(whole)))
